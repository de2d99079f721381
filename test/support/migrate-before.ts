import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from 'drizzle-orm/node-postgres/migrator';
import type { Ledger } from '../../src/ledger/connection/connect-ledger.ts';

type Journal = { entries: { tag: string }[] };

/**
 * Applies the migrations before the one with this name, for the schema of an earlier version of the program. Returns
 * their number.
 */
export async function migrateBefore({ db }: Ledger, name: string): Promise<number> {
  const migrationsFolder = await mkdtemp(join(tmpdir(), 'wallet-ledger-migrations-'));
  try {
    await cp('migrations', migrationsFolder, { recursive: true });
    const path = join(migrationsFolder, 'meta', '_journal.json');
    const journal = JSON.parse(await readFile(path, 'utf8')) as Journal;
    const count = journal.entries.findIndex(({ tag }) => tag.endsWith(`_${name}`));
    if (count < 0) throw new Error(`there is no migration ${name}`);
    await writeFile(path, JSON.stringify({ ...journal, entries: journal.entries.slice(0, count) }));
    await migrate(db, { migrationsFolder });
    return count;
  } finally {
    await rm(migrationsFolder, { recursive: true });
  }
}
