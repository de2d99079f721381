import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import { LedgerError, toError } from '../kernel/errors.ts';
import { createHttpApp, type HttpAppOptions } from './http-app.ts';

export type HttpOptions = HttpAppOptions & {
  /** 0: a free one. */
  port: number;
};

export type HttpServer = {
  port: number;
  /** Over within a second, whoever is still connected. Never rejects. */
  close(): Promise<void>;
};

/** For a client to send its request, whole. */
const requestMs = 10_000;
/** For a connection on which nothing moves, a reader who does not read included. */
const silenceMs = 30_000;
const connectionsMax = 1_000;
/** Requests of one connection under way at a time. Browsers and scrapers wait for each answer. */
const sentAheadMax = 4;
/** On closing, what answers under way get. */
const lastAnswersMs = 500;

/** Serves the status pages. Throws LedgerError `settings` when the address cannot be listened on. */
export async function startHttp(options: HttpOptions): Promise<HttpServer> {
  const { host, port, log } = options;
  const app = createHttpApp(options);
  const listener = getRequestListener(app.fetch, {
    overrideGlobalObjects: false,
    // Where HTTP/1.0 names no host.
    hostname: 'localhost',
  });
  const server = createServer(
    { headersTimeout: requestMs, requestTimeout: requestMs, connectionsCheckingInterval: 2_000 },
    fewAtATime((request, response) => void listener(request, response)),
  );
  server.keepAliveTimeout = 5_000;
  server.setTimeout(silenceMs);
  server.maxConnections = connectionsMax;
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

/** Node parses a thousand requests of one packet at once: who sends them and does not read would fill the memory. */
function fewAtATime(listener: RequestListener): RequestListener {
  const underWay = new WeakMap<Socket, number>();
  return (request, response) => {
    const { socket } = request;
    const count = (underWay.get(socket) ?? 0) + 1;
    if (count > sentAheadMax) {
      socket.destroy();
      return;
    }
    underWay.set(socket, count);
    response.once('close', () => underWay.set(socket, (underWay.get(socket) ?? 1) - 1));
    listener(request, response);
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
  return new LedgerError('settings', `the status pages cannot be served: ${cause.message}`, {
    cause,
    cure: 'set HTTP_HOST and HTTP_PORT to a free address, HTTP_PORT=0 for any port, or HTTP_PORT=off',
  });
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
