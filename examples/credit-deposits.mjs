// A shop that credits its customers' deposits, each exactly once. Its tables are in the ledger's database.
// docs/applications.md explains it.
//
//   DATABASE_URL=postgres://shop@… node examples/credit-deposits.mjs begin
//   DATABASE_URL=postgres://shop@… node examples/credit-deposits.mjs address 60 alice
//   DATABASE_URL=postgres://shop@… node examples/credit-deposits.mjs follow
import { once } from 'node:events';
import pg from 'pg';

const db = new pg.Client(process.env.DATABASE_URL);

/** Credits what is final already, and goes on behind the last event that the tables hold. */
async function begin() {
  await db.query(
    `create table shop.credits (wallet text, order_no text, customer text, symbol text, amount numeric,
                                primary key (wallet, order_no))`,
  );
  await db.query('begin isolation level repeatable read');
  await db.query(`
    insert into shop.credits
    select t.wallet, t.order_no, a.assigned_to, t.symbol, t.amount
      from ledger.transactions t
      join (select distinct wallet, address_key, assigned_to from ledger.addresses where assigned_to is not null) a
        on a.wallet = t.wallet and a.address_key = ledger.address_key(t.to_address)
     where t.stream = 'deposit' and t.is_success and t.is_listed`);
  await db.query(`select ledger.ack_events('shop', ledger.events_head())`);
  await db.query('commit');
}

/** Prints the deposit address of a customer: always the same one. Null: the pool is empty, try again later. */
async function address(slip44, customer) {
  const { rows } = await db.query('select ledger.take_address($1, $2) as address', [
    slip44,
    customer,
  ]);
  console.log(rows[0].address);
}

/** Makes the credit of a deposit what its row says now; so the same event twice changes nothing. */
async function settle({ kind, wallet, data: deposit }) {
  if (!kind.startsWith('transaction.') || deposit.stream !== 'deposit' || !deposit.reference)
    return;
  const { order_no: orderNo, reference, symbol, amount } = deposit;
  if (kind === 'transaction.seen') console.log(`${reference}: ${amount} ${symbol} on the way`);
  if (deposit.is_success && deposit.is_listed) {
    await db.query(
      `insert into shop.credits values ($1, $2, $3, $4, $5)
       on conflict (wallet, order_no) do update set (customer, symbol, amount) = ($3, $4, $5)`,
      [wallet, orderNo, reference, symbol, amount],
    );
    if (kind === 'transaction.final') console.log(`${reference}: ${amount} ${symbol} credited`);
  } else {
    const undone = await db.query('delete from shop.credits where (wallet, order_no) = ($1, $2)', [
      wallet,
      orderNo,
    ]);
    if (undone.rowCount > 0) console.log(`${reference}: ${amount} ${symbol} taken back`);
  }
}

/** Processes the next events. Credits and position commit together: all of it happens once, or not yet. */
async function processNext() {
  await db.query('begin');
  const { rows } = await db.query(
    `select seq, wallet, kind, data from ledger.next_events('shop', 100)`,
  );
  for (const event of rows) await settle(event);
  if (rows.length > 0) await db.query(`select ledger.ack_events('shop', $1)`, [rows.at(-1).seq]);
  await db.query('commit');
  return rows.length;
}

/** Follows the feed. An error ends the program; a supervisor starts it again, and nothing was lost. */
async function follow() {
  await db.query('listen ledger_events');
  for (;;) {
    if ((await processNext()) > 0) continue;
    await once(db, 'notification', { signal: AbortSignal.timeout(1_000) }).catch(() => {});
  }
}

const [command, ...words] = process.argv.slice(2);
await db.connect();
await { begin, address, follow }[command](...words);
await db.end();
