import { setMaxListeners } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LedgerError, toError } from '../kernel/errors.ts';
import { headerText } from './authentication/authenticate.ts';
import { createControlRoutes } from './control-routes.ts';
import { pushChanges } from './push-changes.ts';
import { type SandboxOptions, withDefaults } from './sandbox-options.ts';
import { createSandboxWallets, type SandboxWallet } from './sandbox-wallets.ts';
import { sendAnswer } from './send-answer.ts';
import { basePath, type Call, createWalletService } from './serve-wallet.ts';

/** Running emulator of the wallet service. Its wallet fields are those of the first wallet. */
export type Sandbox = SandboxWallet & {
  /** `http://127.0.0.1:PORT/api`, the part before `/v1`. */
  baseUrl: string;
  port: number;
  /** All wallets, the first one included. */
  wallets: readonly SandboxWallet[];
  /** Pushes a hint to this URL alone for each transaction of any wallet that is new or changed from now on. */
  pushTo(url: string): void;
  /** Closes the server and all its connections. */
  close(): Promise<void>;
};

const bodyBytesMax = 65_536;

/** Starts the emulator on 127.0.0.1. Rejects with LedgerError `port-in-use`, or `usage` for an invalid port. */
export async function startSandbox(given: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  const options = withDefaults(given);
  const wallets = createSandboxWallets(options);
  const [first] = wallets;
  if (first === undefined) throw new Error('the sandbox needs at least one wallet');
  const closing = new AbortController();
  // Every delayed request adds a listener.
  setMaxListeners(0, closing.signal);
  const serve = createService(wallets, first, closing.signal);
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  // Prevents an unintended fault: the server could close an idle connection just when the client reuses it.
  server.keepAliveTimeout = 600_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.port, '127.0.0.1', resolve);
  }).catch(cannotListen);
  const { port } = server.address() as AddressInfo;

  let pushing: (() => void)[] = [];
  function pushTo(url: string | null) {
    for (const stop of pushing) stop();
    pushing = url === null ? [] : wallets.map(({ world, stats }) => pushChanges(world, stats, url));
  }
  pushTo(options.push);

  async function close() {
    closing.abort();
    pushTo(null);
    await new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  }
  return { ...first, wallets, baseUrl: `http://127.0.0.1:${port}${basePath}`, port, pushTo, close };
}

/** Creates the function that answers all requests. The first wallet refuses those without a known key. */
function createService(
  wallets: readonly SandboxWallet[],
  first: SandboxWallet,
  closing: AbortSignal,
) {
  const steer = createControlRoutes(wallets);
  const serveFirst = createWalletService(first, closing);
  const services = new Map([[first.credentials.apiKey, serveFirst]]);
  for (const wallet of wallets.slice(1)) {
    services.set(wallet.credentials.apiKey, createWalletService(wallet, closing));
  }
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const call = await readCall(request);
    if (call.path.startsWith('/control/')) return sendAnswer(response, steer(call));
    const serve = services.get(headerText(call, 'biz-api-key')) ?? serveFirst;
    await serve(call, response);
  };
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

function cannotListen(thrown: unknown): never {
  const cause = toError(thrown);
  const isTaken = 'code' in cause && cause.code === 'EADDRINUSE';
  throw new LedgerError(
    isTaken ? 'port-in-use' : 'usage',
    `the sandbox cannot listen: ${cause.message}`,
    { cause, cure: 'choose another port; port 0 (--port 0) takes any free one' },
  );
}
