import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { closeServer, listen } from './listen.ts';

/** A page before it is sent: its page fields, and its rows as JSON text; or the whole answer instead. */
export type PageAnswer = {
  pageNo: unknown;
  pageSize: unknown;
  totalSize: unknown;
  rows: string[];
  body?: string | Buffer;
  status?: number;
};

type Asked = { list: string; pageNo: number; pageSize: number };

export type ListingService = {
  baseUrl: string;
  /** JSON texts of the rows by list (`deposit`, `withdraw`, `addresses`), in the list's order. */
  lists: Map<string, string[]>;
  /** JSON texts of details by orderNo. */
  details: Map<string, string>;
  /** JSON text of the data of the two snapshots. */
  snapshots: { balance: string; coin: string };
  /** Path and query of every request so far. */
  asked: string[];
  /** Returns for a request, by path and query, that it is answered with HTTP 500 or that its connection is reset. */
  fault: (asked: string) => 'http-500' | 'reset' | null;
  /** Changes a page before it is sent. */
  twist: (page: PageAnswer, asked: Asked) => PageAnswer | Promise<PageAnswer>;
  close(): Promise<void>;
};

/** A service that serves any JSON text of a test, with valid rows or not. It checks no signature. */
export async function startListingService(): Promise<ListingService> {
  const parts: Omit<ListingService, 'baseUrl' | 'close'> = {
    lists: new Map(),
    details: new Map(),
    snapshots: { balance: '[]', coin: '[]' },
    asked: [],
    fault: () => null,
    twist: (page) => page,
  };
  const server = createServer((request, response) => {
    answer(service, request, response).catch(() => response.destroy());
  });
  server.keepAliveTimeout = 600_000;
  const port = await listen(server);
  const service: ListingService = {
    ...parts,
    baseUrl: `http://127.0.0.1:${port}/api`,
    close: () => closeServer(server),
  };
  return service;
}

async function answer(
  service: ListingService,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://service');
  const asked = `${url.pathname}${url.search}`;
  service.asked.push(asked);
  const fault = service.fault(asked);
  if (fault !== null) {
    if (fault === 'reset') response.destroy();
    else response.writeHead(500).end('Internal Server Error');
    return;
  }
  const data = await dataOf(service, url);
  const isWhole = typeof data === 'object' && data !== null;
  response.writeHead(isWhole ? data.status : 200, { 'content-type': 'application/json' });
  if (isWhole) response.end(data.body);
  else if (data === null) response.end('{"code":40001,"data":null,"msg":"not found"}');
  else response.end(`{"code":0,"data":${data},"msg":""}`);
}

async function dataOf(
  service: ListingService,
  url: URL,
): Promise<string | { body: string | Buffer; status: number } | null> {
  const { searchParams, pathname } = url;
  switch (pathname.replace('/api/v1/', '')) {
    case 'transaction/list':
      return await pageOf(service, searchParams.get('type') ?? '', searchParams);
    case 'wallet/address/list':
      return await pageOf(service, 'addresses', searchParams);
    case 'transaction/info':
      return service.details.get(searchParams.get('orderNo') ?? '') ?? null;
    case 'wallet/balance':
      return service.snapshots.balance;
    case 'wallet/coin':
      return service.snapshots.coin;
    default:
      return null;
  }
}

async function pageOf(service: ListingService, list: string, query: URLSearchParams) {
  const pageNo = Number(query.get('pageNo') ?? 1);
  const pageSize = Number(query.get('pageSize') ?? 10);
  const all = service.lists.get(list) ?? [];
  const rows = all.slice((pageNo - 1) * pageSize, pageNo * pageSize);
  const honest = { pageNo, pageSize, totalSize: all.length, rows };
  const page = await service.twist(honest, { list, pageNo, pageSize });
  const { rows: listed, body, status = 200, ...numbers } = page;
  if (body !== undefined) return { body, status };
  return `{${JSON.stringify(numbers).slice(1, -1)},"list":[${listed.join(',')}]}`;
}
