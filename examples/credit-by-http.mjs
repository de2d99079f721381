// The same shop with its tables in another database: it reads the feed over HTTP, and keeps its position beside its
// credits. docs/applications.md explains it.
//
//   SHOP_DATABASE_URL=postgres://… FEED_URL=http://127.0.0.1:8080/feed FEED_TOKEN=… node examples/credit-by-http.mjs
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

const { SHOP_DATABASE_URL, FEED_URL, FEED_TOKEN } = process.env;
const db = new pg.Client(SHOP_DATABASE_URL);
const sql = (text, ...values) => db.query(text, values);

/** Returns the events behind the position; waits for them up to half a minute. */
async function readFeed(after) {
  const headers = { Authorization: `Bearer ${FEED_TOKEN}` };
  const answer = await fetch(`${FEED_URL}?after=${after}&wait=30s`, { headers });
  // 409: the ledger's database went back. 410: read too late. Both need a person: compare with the tables, see the text.
  if (answer.status === 409 || answer.status === 410) throw new Error(await answer.text());
  if (!answer.ok) throw new Error(`the feed answered ${answer.status}`, { cause: 'retry' });
  const lines = (await answer.text()).split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line));
}

/** Makes the credit of a deposit what its row says now; so the same event twice changes nothing. */
async function settle({ kind, wallet, data: { order_no: order, reference, ...deposit } }) {
  if (!kind.startsWith('transaction.') || deposit.stream !== 'deposit' || !reference) return;
  await sql('delete from shop.credits where (wallet, order_no) = ($1, $2)', wallet, order);
  if (!deposit.is_success || !deposit.is_listed) return;
  const credit = [wallet, order, reference, deposit.symbol, deposit.amount];
  await sql('insert into shop.credits values ($1, $2, $3, $4, $5)', ...credit);
}

/** Credits and position commit together. Of two programs the one that comes second finds the position moved. */
async function processAll(events, after) {
  await sql('begin');
  const moved = await sql('update shop.feed set seq = $1 where seq = $2', events.at(-1).seq, after);
  if (moved.rowCount === 1) for (const event of events) await settle(event);
  await sql('commit');
}

await db.connect();
await sql(`
  create schema if not exists shop;
  create table if not exists shop.credits (wallet text, order_no text, customer text, symbol text, amount numeric,
                                           primary key (wallet, order_no));
  create table if not exists shop.feed (seq bigint);
  insert into shop.feed select 0 where not exists (select from shop.feed)`);
for (;;) {
  const { rows } = await sql('select seq from shop.feed');
  try {
    const events = await readFeed(rows[0].seq);
    if (events.length > 0) await processAll(events, rows[0].seq);
  } catch (error) {
    if (error.cause === undefined) throw error;
    await delay(1_000);
  }
}
