import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { closeServer, listen } from './listen.ts';

type Seen = {
  method: string;
  url: URL;
  headers: IncomingMessage['headers'];
  body: string;
  /** Number of requests before this one. */
  index: number;
};

type Handler = (seen: Seen, response: ServerResponse) => unknown;

export type ScriptedService = {
  baseUrl: string;
  seen: Seen[];
  /** Sets the handlers for further requests: each answers one request, and the last one all later requests. */
  answer(...handlers: Handler[]): void;
  close(): Promise<void>;
};

/**
 * A real HTTP server on the loopback that answers as a test specifies; a value returned by a handler is sent as JSON.
 */
export async function startScriptedService(): Promise<ScriptedService> {
  let handlers: Handler[] = [];
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const entry: Seen = {
        method: request.method ?? '',
        url: new URL(request.url ?? '/', 'http://service'),
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
        index: seen.length,
      };
      seen.push(entry);
      const handler = handlers.length > 1 ? handlers.shift() : handlers[0];
      const json = handler?.(entry, response);
      if (json !== undefined) send(response, 200, JSON.stringify(json));
    });
  });
  const port = await listen(server);
  return {
    baseUrl: `http://127.0.0.1:${port}/api`,
    seen,
    answer(...next) {
      seen.length = 0;
      handlers = next;
    },
    close: () => closeServer(server),
  };
}

/** Ends a response; headers are added to the content type. */
export function send(
  response: ServerResponse,
  status: number,
  body: string | Buffer,
  headers: Record<string, string> = {},
): undefined {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(body);
}

/** A handler that answers with this status, body and headers. */
export function reply(status: number, body = '', headers: Record<string, string> = {}): Handler {
  return (_seen, response) => send(response, status, body, headers);
}

/** A handler that answers with success and this data. */
export function succeed(data: unknown): Handler {
  return () => ({ code: 0, msg: 'success', data });
}

/** A page object with these rows. */
export function pageOf(rows: unknown[], more: Record<string, unknown> = {}): unknown {
  return { pageNo: 1, pageSize: 10, totalSize: rows.length, totalPages: 1, list: rows, ...more };
}
