import { Pool } from 'pg';
import { type StaticRow, staticTypes } from '../static-rows.ts';

const rowsPerStatement = 1_000;
const connections = 2;

type BarePage = { data: { totalSize: number; list: StaticRow[] } };

/**
 * The shortest program that stores the same pages in the same table, without any guarantee: no signature, order,
 * checkpoint, check of answers or trigger (so no counts, totals or events). Both lists at once, `concurrency` requests
 * in flight together. Returns its seconds.
 */
export async function bareBackfill(
  baseUrl: string,
  connectionString: string,
  { pageSize, concurrency }: { pageSize: number; concurrency: number },
): Promise<number> {
  const pool = new Pool({ connectionString, max: connections });
  // The database may be dropped before the server has closed the connections.
  pool.on('error', () => undefined);
  await pool.query('alter table ledger.transactions disable trigger user');
  const startedAt = performance.now();
  try {
    await Promise.all(
      staticTypes.map((type) => {
        const source = `${baseUrl}/v1/transaction/list?type=${type}&pageSize=${pageSize}`;
        return loadList(source, pageSize, concurrency / staticTypes.length, pool);
      }),
    );
    return (performance.now() - startedAt) / 1_000;
  } finally {
    await pool.end();
  }
}

/** Pages are requested in turn and stored as they arrive; each full batch is written while the next ones arrive. */
async function loadList(
  source: string,
  pageSize: number,
  inFlight: number,
  pool: Pool,
): Promise<void> {
  const first = await fetchPage(source, 1);
  const pages = Math.ceil(first.data.totalSize / pageSize);
  let batch = first.data.list;
  let nextPage = 2;
  let writing: Promise<unknown> = Promise.resolve();
  const fetchOn = async () => {
    while (nextPage <= pages) {
      const { data } = await fetchPage(source, nextPage++);
      batch.push(...data.list);
      if (batch.length < rowsPerStatement) continue;
      const full = batch;
      batch = [];
      await writing;
      writing = insert(pool, full);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, fetchOn));
  await writing;
  await insert(pool, batch);
}

async function fetchPage(source: string, page: number): Promise<BarePage> {
  const response = await fetch(`${source}&pageNo=${page}`);
  return JSON.parse(await response.text()) as BarePage;
}

async function insert(pool: Pool, rows: StaticRow[]): Promise<void> {
  const column = (name: keyof StaticRow) => rows.map((row) => row[name]);
  await pool.query({
    name: 'bare insert',
    text: `insert into ledger.transactions (order_no, stream, request_id, symbol, tx_hash, from_address, to_address,
        amount, type, state, occurred_at, is_final)
      select order_no, type, nullif(request_id, ''), symbol, tx_hash, from_address, to_address, amount, type, state,
             to_timestamp(ms / 1000.0), true
        from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::numeric[],
               $8::text[], $9::text[], $10::bigint[])
          as i (order_no, request_id, symbol, tx_hash, from_address, to_address, amount, type, state, ms)
      on conflict do nothing`,
    values: [
      column('orderNo'),
      column('requestId'),
      column('symbol'),
      column('txHash'),
      column('fromAddress'),
      column('toAddress'),
      column('amount'),
      column('type'),
      column('state'),
      column('time'),
    ],
  });
}
