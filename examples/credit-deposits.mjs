// A shop that credits its customers' deposits, each exactly once, in the ledger's database (docs/applications.md).
//
//   DATABASE_URL=postgres://shop@… node examples/credit-deposits.mjs begin | address 60 alice | follow
import { once } from 'node:events';
import pg from 'pg';

const db = new pg.Client(process.env.DATABASE_URL);
const sql = async (text, ...values) => (await db.query(text, values)).rows;

/** Credits what is final already, and goes on behind the last event that the tables hold. */
const begin = () =>
  db.query(`begin isolation level repeatable read;
    create table shop.credits (wallet text, order_no text, customer text, symbol text, amount numeric,
                               primary key (wallet, order_no));
    insert into shop.credits
    select t.wallet, t.order_no, a.assigned_to, t.symbol, t.amount
      from ledger.transactions t
      join (select distinct wallet, address_key, assigned_to from ledger.addresses where assigned_to is not null) a
        on a.wallet = t.wallet and a.address_key = ledger.address_key(t.to_address)
     where t.stream = 'deposit' and t.is_success and t.is_listed;
    select ledger.ack_events('shop', ledger.events_head());
    commit`);

/** Prints the deposit address of a customer: always the same one. Null: the pool is empty, try again later. */
const address = async (slip44, customer) =>
  console.log((await sql('select ledger.take_address($1, $2)', slip44, customer))[0].take_address);

/** Makes the credit of a deposit what its row says now; so the same event twice changes nothing. */
async function settle({ kind, wallet, data: { order_no: order, reference, ...deposit } }) {
  if (!kind.startsWith('transaction.') || deposit.stream !== 'deposit' || !reference) return;
  const say = (what) => console.log(`${reference}: ${deposit.amount} ${deposit.symbol} ${what}`);
  if (kind === 'transaction.seen') say('on the way');
  const key = [wallet, order];
  const undo = 'delete from shop.credits where (wallet, order_no) = ($1, $2) returning 1';
  const undone = await sql(undo, ...key);
  if (deposit.is_success && deposit.is_listed) {
    const credit = [...key, reference, deposit.symbol, deposit.amount];
    await sql('insert into shop.credits values ($1, $2, $3, $4, $5)', ...credit);
    if (kind === 'transaction.final') say('credited');
  } else if (undone.length > 0) say('taken back');
}

/** Follows the feed. Credits and position commit together, so it may be killed and started again at any time. */
async function follow() {
  await sql('listen ledger_events');
  for (;;) {
    await sql('begin');
    const events = await sql(`select seq, wallet, kind, data from ledger.next_events('shop', 100)`);
    for (const event of events) await settle(event);
    if (events.length > 0) await sql(`select ledger.ack_events('shop', $1)`, events.at(-1).seq);
    await sql('commit');
    if (events.length === 0)
      await once(db, 'notification', { signal: AbortSignal.timeout(1_000) }).catch(() => {});
  }
}

const [command, ...words] = process.argv.slice(2);
await db.connect();
await { begin, address, follow }[command](...words);
await db.end();
