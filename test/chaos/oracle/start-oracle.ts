import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { closeServer, listen } from '../../support/listen.ts';
import { seededRandom } from '../../support/seeded-random.ts';
import { createAddressTruth } from './address-truth.ts';
import { type Answer, answerRequest, refused, type World } from './answer-request.ts';
import { createAssetTruth } from './asset-truth.ts';
import { type CallLog, createCallLog } from './call-log.ts';
import { createKeyPair, type KeyPair } from './check-request.ts';
import { createMoments, type Moments } from './moments.ts';
import { createNonceMemory } from './nonce-memory.ts';
import type { Lies, Oracle, OracleCall, OracleOptions } from './oracle-types.ts';
import { createTransactionTruth } from './transaction-truth.ts';
import { writeTruth } from './write-truth.ts';

const bodyBytesMax = 10_000;
const usualPlainShare = 0.15;

/** Starts the service on a free port of 127.0.0.1. */
export async function startOracle(options: OracleOptions): Promise<Oracle> {
  const moments = createMoments();
  const world = createWorld(options, moments);
  const keys = createKeyPair(options.seed);
  const log = createCallLog();
  const serve = createService({ world, moments, keys, log, verifyShare: options.verifyShare ?? 1 });
  const server = createServer((request, response) => {
    // The client has disconnected during its request.
    serve(request, response).catch(() => response.destroy());
  });
  server.keepAliveTimeout = 60_000;
  let connections = 0;
  server.on('connection', (socket) => {
    connections += 1;
    socket.on('close', () => {
      connections -= 1;
    });
  });
  const port = await listen(server);
  const { transactions, assets, addresses, lies } = world;
  return {
    port,
    baseUrl: `http://127.0.0.1:${port}`,
    privateKey: keys.privateKey,
    apiKey: keys.apiKey,
    arrive: transactions.arrive,
    advance: transactions.advance,
    settle: transactions.settle,
    amend: transactions.amend,
    moveBalances: assets.moveBalances,
    lies,
    calls: log.calls,
    openConnections: () => connections,
    operate: addresses.operate,
    isGenerated: addresses.isGenerated,
    hide: transactions.hide,
    missShown: transactions.history.missShown,
    noteLostAnswer: addresses.lose,
    writeTruth: (client) =>
      writeTruth(client, { transactions, assets, addresses, moments, totals: log.totals }),
    close: () => closeServer(server),
  };
}

function createWorld(options: OracleOptions, moments: Moments): World {
  const { seed, slip44s, addressListLagMs = 0, allPlain = false } = options;
  const addresses = createAddressTruth(seededRandom(seed + 1), slip44s, addressListLagMs);
  const assets = createAssetTruth(seededRandom(seed + 2), moments, slip44s, allPlain);
  const lies: Lies = {
    clampPage: 0,
    wrongTotal: 0,
    stalePage: 0,
    wrongDetail: 0,
    duplicateInPage: 0,
    boundaryPage: 0,
    oldReplica: 0,
    laggingTotal: 0,
    aheadTotal: 0,
    cappedTotal: 0,
    shortPage: 0,
    spoiltPage: 0,
    otherListsRow: 0,
  };
  return {
    addresses,
    assets,
    lies,
    lieRandom: seededRandom(seed + 3),
    pageSizeMax: options.pageSizeMax,
    newestFirst: options.newestFirst ?? true,
    transactions: createTransactionTruth({
      history: options.history,
      oddRows: options.oddRows ?? 0,
      coins: assets.coins.filter((coin) => !assets.plainCoins.includes(coin)),
      plainCoins: assets.plainCoins,
      plainShare: allPlain ? 1 : usualPlainShare,
      pay: assets.pay,
      random: seededRandom(seed),
      moments,
      knownAddress: addresses.some,
    }),
  };
}

type ServiceParts = {
  world: World;
  moments: Moments;
  keys: KeyPair;
  log: CallLog;
  verifyShare: number;
};

function createService({ world, moments, keys, log, verifyShare }: ServiceParts) {
  const judgeNonce = createNonceMemory();
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const nonce = header(request, 'biz-api-nonce');
    const call = log.receive(request.method ?? '', url.pathname, nonce === '' ? null : nonce);
    response.setHeader('x-oracle-call', call.serial);
    response.on('close', () => world.addresses.finish(call.serial, !response.writableFinished));
    const fields = bodyFields(await readBody(request));
    const params = [...url.searchParams, ...fields];
    const signature = header(request, 'biz-api-signature');
    const { method, path } = call;
    const isSigned =
      header(request, 'biz-api-key') === keys.apiKey &&
      (!world.lieRandom.chance(verifyShare) ||
        (await keys.isSigned({ method, path, nonce, signature, params })));
    send(response, call, judge(call, isSigned, new Map(params)));
  };

  function judge(call: OracleCall, isSigned: boolean, params: Map<string, string>): Answer {
    if (!isSigned) {
      log.totals.badSignatures += 1;
      return refused(1401, 'signature is not right');
    }
    const nonce = judgeNonce(call.nonce ?? '', Date.now());
    if (nonce === 'reused') log.totals.reusedNonces += 1;
    if (nonce === 'bad') log.totals.badNonces += 1;
    if (nonce !== 'new') return refused(1402, `nonce is ${nonce}`);
    call.accepted = true;
    log.totals.accepted += 1;
    moments.noteAnswer(Number(call.nonce));
    return answerRequest(world, call, params);
  }
}

function send(response: ServerResponse, call: OracleCall, answer: Answer): void {
  call.answer = answer.note;
  const { code, message, data } = answer;
  const body = Buffer.from(`{"code":${code},"data":${data},"msg":${JSON.stringify(message)}}`);
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': String(body.length),
  });
  response.end(body);
}

function header(request: IncomingMessage, name: string): string {
  const value = request.headers[name];
  return typeof value === 'string' ? value : '';
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length;
    if (bytes > bodyBytesMax) throw new Error('a request without end');
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The fields of a JSON body as they are signed; an invalid body has no field, and so a wrong signature. */
function bodyFields(body: string): [string, string][] {
  if (body === '') return [];
  try {
    const json: unknown = JSON.parse(body);
    return typeof json === 'object' && json !== null
      ? Object.entries(json).map(([name, value]) => [name, String(value)])
      : [];
  } catch {
    return [];
  }
}
