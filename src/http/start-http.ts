import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import { LedgerError, toError } from '../kernel/errors.ts';
import { boundConnections } from './access/bound-connections.ts';
import { createHttpApp, type HttpAppOptions } from './http-app.ts';

export type HttpOptions = HttpAppOptions & {
  /** 0 selects a free port. */
  port: number;
};

export type HttpServer = {
  port: number;
  /** Closes the server within a second, whatever clients are still connected. Never rejects. */
  close(): Promise<void>;
};

/** Timeout for receiving a whole request. */
const requestMs = 5_000;
/** Idle timeout, also for clients that stop reading. */
const silenceMs = 30_000;
/** Grace period for answers in progress when the server closes. */
const lastAnswersMs = 500;

/** Serves the status pages. Throws LedgerError `settings` when it cannot listen on the address. */
export async function startHttp(options: HttpOptions): Promise<HttpServer> {
  const { host, port, log } = options;
  const app = createHttpApp(options);
  const listener = getRequestListener(app.fetch, {
    overrideGlobalObjects: false,
    // Host name for HTTP/1.0 requests without a Host header.
    hostname: 'localhost',
  });
  const server = createServer({
    headersTimeout: requestMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: 1_000,
  });
  boundConnections(
    server,
    (request, response) => void listener(request, response),
    () => options.onRefused('connections'),
  );
  server.keepAliveTimeout = 5_000;
  server.setTimeout(silenceMs);
  await listen(server, host, port);
  const address = server.address() as AddressInfo;
  log.info({ port: address.port }, 'listening');
  let closing: Promise<void> | undefined;
  return {
    port: address.port,
    close: () => {
      app.close();
      closing ??= closeServer(server);
      return closing;
    },
  };
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (thrown) {
    throw cannotListen(toError(thrown));
  }
}

function cannotListen(cause: Error): LedgerError {
  const isTaken = 'code' in cause && cause.code === 'EADDRINUSE';
  return new LedgerError(
    isTaken ? 'port-in-use' : 'settings',
    `the status pages cannot be served: ${cause.message}`,
    {
      cause,
      cure: 'set HTTP_HOST and HTTP_PORT to a free address, HTTP_PORT=0 for any port, or HTTP_PORT=off',
    },
  );
}

async function closeServer(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  const waiting = new AbortController();
  await Promise.race([closed, delay(lastAnswersMs, undefined, { signal: waiting.signal })]);
  waiting.abort();
  server.closeAllConnections();
  await closed;
}
