// The same shop with its tables in another database: it reads the feed over HTTP, and keeps its position beside its
// credits. docs/applications.md explains it.
//
//   SHOP_DATABASE_URL=postgres://… FEED_URL=http://127.0.0.1:8080/feed FEED_TOKEN=… node examples/credit-by-http.mjs
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

const { SHOP_DATABASE_URL, FEED_URL, FEED_TOKEN } = process.env;
const db = new pg.Client(SHOP_DATABASE_URL);

/** Returns the events behind the position; waits for them up to half a minute. */
async function readFeed(after) {
  const headers = { Authorization: `Bearer ${FEED_TOKEN}` };
  const answer = await fetch(`${FEED_URL}?after=${after}&wait=30s`, { headers });
  // 409: the ledger's database went back. 410: read too late. Both need a person: compare with the tables, see the text.
  if (answer.status === 409 || answer.status === 410) throw new Error(await answer.text());
  if (!answer.ok) throw new Error(`the feed answered ${answer.status}`, { cause: 'retry' });
  return (await answer.text())
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

/** Makes the credit of a deposit what its row says now; so the same event twice changes nothing. */
async function settle({ kind, wallet, data: deposit }) {
  if (!kind.startsWith('transaction.') || deposit.stream !== 'deposit' || !deposit.reference)
    return;
  const { order_no: orderNo, reference, symbol, amount } = deposit;
  if (deposit.is_success && deposit.is_listed) {
    await db.query(
      `insert into shop.credits values ($1, $2, $3, $4, $5)
       on conflict (wallet, order_no) do update set (customer, symbol, amount) = ($3, $4, $5)`,
      [wallet, orderNo, reference, symbol, amount],
    );
  } else
    await db.query('delete from shop.credits where (wallet, order_no) = ($1, $2)', [
      wallet,
      orderNo,
    ]);
}

/** Credits and position commit together. Of two programs the one that comes second finds the position moved. */
async function processAll(events, after) {
  await db.query('begin');
  const moved = await db.query('update shop.feed set seq = $1 where seq = $2', [
    events.at(-1).seq,
    after,
  ]);
  if (moved.rowCount === 1) for (const event of events) await settle(event);
  await db.query('commit');
}

await db.connect();
await db.query(`
  create schema if not exists shop;
  create table if not exists shop.credits (wallet text, order_no text, customer text, symbol text, amount numeric,
                                           primary key (wallet, order_no));
  create table if not exists shop.feed (seq bigint);
  insert into shop.feed select 0 where not exists (select from shop.feed)`);
for (;;) {
  const { rows } = await db.query('select seq from shop.feed');
  try {
    const events = await readFeed(rows[0].seq);
    if (events.length > 0) await processAll(events, rows[0].seq);
  } catch (error) {
    if (error.cause === undefined) throw error;
    await delay(1_000);
  }
}
