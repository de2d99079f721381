import { setMaxListeners } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { abortableSleep } from '../kernel/abortable-sleep.ts';
import { createAuthentication, type ReceivedCall } from './authenticate.ts';
import { createControlRoutes } from './control-routes.ts';
import { pushChanges } from './push-changes.ts';
import { type Answer, refuse } from './sandbox-answer.ts';
import { createFaultPicker, type Faults } from './sandbox-faults.ts';
import { type SandboxOptions, withDefaults } from './sandbox-options.ts';
import { createRoutes } from './sandbox-routes.ts';
import {
  createPaceWatch,
  createRateLimit,
  createStats,
  type EndpointPath,
  type SandboxStats,
} from './sandbox-stats.ts';
import { sendAnswer, sendFault } from './send-answer.ts';
import { type Credentials, createCredentials } from './signing-recipes.ts';
import { createWalletWorld, type WalletWorld } from './wallet-world.ts';

/** Running emulator of the wallet service. */
export type Sandbox = {
  /** `http://127.0.0.1:PORT/api`, the part before `/v1`. */
  baseUrl: string;
  port: number;
  options: SandboxOptions;
  credentials: Credentials;
  world: WalletWorld;
  stats: SandboxStats;
  faults: Faults;
  /** Answers that replace an endpoint's own and may be malformed; the endpoint still does its work. */
  answers: Map<EndpointPath, Answer>;
  /** Pushes a hint to this URL alone for each transaction that is new or changed from now on. */
  pushTo(url: string): void;
  /** Closes the server and all its connections. */
  close(): Promise<void>;
};

type Parts = Pick<Sandbox, 'options' | 'credentials' | 'world' | 'stats' | 'faults' | 'answers'>;
type Call = ReceivedCall & { query: URLSearchParams };

const basePath = '/api';
const bodyBytesMax = 65_536;

/** Starts the emulator on 127.0.0.1. Rejects when the port is in use. */
export async function startSandbox(given: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  const options = withDefaults(given);
  const signer = options.signer === 'none' ? 'params-secp256k1' : options.signer;
  const parts: Parts = {
    options,
    credentials: createCredentials(signer, options.seed, options),
    world: createWalletWorld(options),
    stats: createStats(),
    faults: { rate: options.faultRate, kinds: null, lostPostRate: 0, next: [], match: null },
    answers: new Map(),
  };
  const closing = new AbortController();
  // Every delayed request adds a listener.
  setMaxListeners(0, closing.signal);
  const serve = createService(parts, closing.signal);
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  // Prevents an unintended fault: the server could close an idle connection just when the client reuses it.
  server.keepAliveTimeout = 600_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.port, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;

  let stopPushing = () => {};
  function pushTo(url: string) {
    stopPushing();
    stopPushing = pushChanges(parts.world, parts.stats, url);
  }
  if (options.push !== null) pushTo(options.push);

  async function close() {
    closing.abort();
    stopPushing();
    await new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  }
  return { ...parts, baseUrl: `http://127.0.0.1:${port}${basePath}`, port, pushTo, close };
}

function createService(parts: Parts, closing: AbortSignal) {
  const { options, world, stats, faults } = parts;
  const steer = createControlRoutes(world, stats, faults);
  const answerService = createServiceAnswer(parts, closing);
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const call = await readCall(request);
    if (call.path.startsWith('/control/')) return sendAnswer(response, steer(call));
    if (options.latencyMs > 0) await abortableSleep(options.latencyMs, closing);
    await answerService(call, response);
  };
}

function createServiceAnswer(parts: Parts, closing: AbortSignal) {
  const { options, credentials, world, stats, faults, answers } = parts;
  const routes = createRoutes(world, options);
  const refusalOf = createAuthentication(options, credentials, stats);
  const isWithinRate = createRateLimit(options.rate, options.clock);
  const notePace = createPaceWatch(stats, options.clock);
  const pickFault = createFaultPicker(options.seed, faults);

  // Authenticates first, so that a nonce is used up even if the request fails later.
  function gate(call: Call): Answer | null {
    const refusal = refusalOf(call);
    if (refusal !== null) return refuse(refusal);
    if (isWithinRate()) return null;
    stats.tooManyRequests++;
    return refuse('too-many-requests');
  }

  return async (call: Call, response: ServerResponse): Promise<void> => {
    const path = call.path.slice(basePath.length);
    const isOurs = call.path.startsWith(`${basePath}/`) && Object.hasOwn(routes, path);
    const endpoint = path as EndpointPath;
    const route = isOurs ? routes[endpoint] : null;
    if (route?.method !== call.method) return sendAnswer(response, refuse('path-unknown'));
    notePace();
    countRequest(stats, endpoint, call.query.get(options.paramNames.type));
    const refusal = gate(call);
    if (refusal !== null) return sendAnswer(response, refusal);

    const work = (): Answer => {
      const answer = route.answer(call);
      return answers.get(endpoint) ?? answer;
    };
    const fault = pickFault(call);
    if (fault === null) return sendAnswer(response, work());
    stats.faults[fault]++;
    await sendFault(response, fault, { work, hangMs: options.hangMs, closing });
  };
}

function countRequest(stats: SandboxStats, endpoint: EndpointPath, type: string | null) {
  stats.requests[endpoint]++;
  if (endpoint !== '/v1/transaction/list') return;
  stats.listRequests[type === 'deposit' || type === 'withdraw' ? type : 'all']++;
}

async function readCall(request: IncomingMessage): Promise<Call> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) throw new Error('request body too large');
    chunks.push(chunk);
  }
  const target = request.url ?? '/';
  const queryStart = target.indexOf('?');
  const rawQuery = queryStart < 0 ? '' : target.slice(queryStart + 1);
  return {
    method: request.method ?? 'GET',
    path: queryStart < 0 ? target : target.slice(0, queryStart),
    rawQuery,
    query: new URLSearchParams(rawQuery),
    body: Buffer.concat(chunks).toString('utf8'),
    headers: request.headers,
  };
}
