/** The process of `startStaticService`: argument 1 is the number of transactions; sends its port when it is ready. */
import { createServer } from 'node:http';
import { listen } from '../support/listen.ts';
import { ordinalsOf, staticCoins, staticDetail, staticRow, staticTypes } from './static-rows.ts';

/** All rows of one list in the form of an answer, with commas between; row i begins at starts[i]. */
type RenderedList = { text: Buffer; starts: Float64Array };

/** Number of rows that are converted to bytes at once. */
const chunkRows = 1_000;

const rows = Number(process.argv[2]);
const lists = new Map(staticTypes.map((type) => [type as string, render(ordinalsOf(type, rows))]));

const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const body = answer(url.pathname, url.searchParams);
  response.writeHead(body ? 200 : 404, {
    'content-type': 'application/json;charset=UTF-8',
    'content-length': body?.length ?? 0,
  });
  response.end(body);
});
server.keepAliveTimeout = 60_000;
process.once('disconnect', () => process.exit());
process.send?.(await listen(server));

function answer(path: string, query: URLSearchParams): Buffer | undefined {
  if (path.endsWith('/v1/transaction/info')) {
    return envelope(JSON.stringify(staticDetail(query.get('orderNo') ?? '')));
  }
  if (path.endsWith('/v1/transaction/list')) {
    const list = lists.get(query.get('type') ?? '');
    return list && page(list, Number(query.get('pageNo')), Number(query.get('pageSize')));
  }
  if (path.endsWith('/v1/wallet/address/list')) return page(render([]), 1, 10);
  if (path.endsWith('/v1/wallet/coin')) return envelope(JSON.stringify(staticCoins));
  return path.endsWith('/v1/wallet/balance') ? envelope('[]') : undefined;
}

function envelope(data: string): Buffer {
  return Buffer.from(`{"code":0,"msg":"ok","data":${data}}`);
}

function page({ text, starts }: RenderedList, pageNo: number, pageSize: number): Buffer {
  const totalSize = starts.length - 1;
  const totalPages = Math.ceil(totalSize / pageSize);
  const numbers = { pageNo, pageSize, totalSize, totalPages };
  const near = { prevPage: Math.max(1, pageNo - 1), nextPage: Math.min(totalPages, pageNo + 1) };
  const head = JSON.stringify({ ...numbers, ...near }).slice(0, -1);
  const first = Math.min(totalSize, (pageNo - 1) * pageSize);
  const end = Math.min(totalSize, pageNo * pageSize);
  const slice = text.subarray(starts[first], Math.max(0, (starts[end] ?? 0) - 1));
  return Buffer.concat([
    Buffer.from(`{"code":0,"msg":"ok","data":${head},"list":[`),
    first < end ? slice : Buffer.alloc(0),
    Buffer.from(']}}'),
  ]);
}

function render(ordinals: number[]): RenderedList {
  const starts = new Float64Array(ordinals.length + 1);
  const chunks: Buffer[] = [];
  let text = '';
  let bytes = 0;
  for (const [index, ordinal] of ordinals.entries()) {
    // The texts are ASCII: characters are bytes.
    const row = `${JSON.stringify(staticRow(ordinal))},`;
    text += row;
    bytes += row.length;
    starts[index + 1] = bytes;
    if (index % chunkRows !== chunkRows - 1) continue;
    chunks.push(Buffer.from(text));
    text = '';
  }
  return { text: Buffer.concat([...chunks, Buffer.from(text)]), starts };
}
