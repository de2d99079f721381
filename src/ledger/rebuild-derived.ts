import { sql } from 'drizzle-orm';
import type { Ledger, LedgerDb } from './connection/connect-ledger.ts';
import { orNull, out, query, text } from './connection/query-rows.ts';
import { correctTotals } from './reports/totals-store.ts';
import { rescheduleDetails } from './transactions/detail-checks.ts';

/** Advisory lock; any constant works that stays the same in every version. */
const rebuildLock = 7_246_018;

/**
 * Rebuilds what is derived from the transactions and addresses of all wallets if the database is away from home: a
 * restore may have brought back only the transactions and addresses, and addresses may have been deleted. Reads every
 * transaction. Several processes do it one after the other; after the move is healed, the others find nothing to do.
 * Call it before the move is healed, because healing must hold its locks briefly.
 */
export async function rebuildWhileAway(ledger: Ledger): Promise<void> {
  await ledger.longTransaction(async (db) => {
    await db.execute(sql`select pg_advisory_xact_lock(${rebuildLock})`);
    const [home] = await query(db)`select engine.home_state() as ${out('away', orNull(text))}`;
    if (home?.away) await rebuildDerived(db);
  });
}

/** Does the rebuilding of `rebuildWhileAway`, wherever the database is. */
export async function rebuildDerived(db: LedgerDb): Promise<void> {
  const workAs = (name: string) =>
    db.execute(sql`select set_config('ledger.wallet', ${name}, true)`);
  const [session] = await query(db)`select engine.wallet() as ${out('own', text)}`;
  const names = await query(
    db,
  )`select wallet as ${out('name', text)} from engine.wallet_names order by wallet`;
  for (const { name } of names) {
    await workAs(name);
    await rescheduleDetails(db);
  }
  await workAs(session?.own ?? 'main');
  await correctTotals(db);
  // Every writer of addresses counts them in the same transaction, so the next statement sees each counted address.
  await db.execute(sql`
    select from ledger.streams where name like 'addresses:%' order by wallet, name for no key update`);
  // Unlike transactions, addresses have no trigger that counts deleted rows.
  await db.execute(sql`
    update ledger.streams s set ledger_count = coalesce(a.items, 0)
      from ledger.pools p
      left join (select wallet, slip44, sum(greatest(1, cardinality(listed_as))) as items
                   from ledger.addresses group by wallet, slip44) a using (wallet, slip44)
     where s.wallet = p.wallet and s.name = 'addresses:' || p.slip44`);
}
