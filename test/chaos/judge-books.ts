import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { type BookTool, bookTools, judgeBalances, judgeJournal } from '../support/book-tools.ts';
import type { Exit } from './fleet.ts';

/** The accounting programs that are installed on this machine. */
export const judges = (Object.keys(bookTools) as BookTool[]).filter((tool) => bookTools[tool]);

/**
 * Exports the ledger as a journal for each program. The program checks the journal, and compares its balances with
 * those of the service, all of which must be sums of transactions. Returns a line for each program with a finding.
 */
export async function judgeBooks(options: {
  /** Contains the schema `oracle`. */
  database: pg.Pool;
  folder: string;
  /** Runs `wallet-ledger` with these arguments to its end. */
  run(args: string[]): Promise<Exit>;
}): Promise<string[]> {
  if (judges.length === 0) return ['neither hledger nor bean-check nor ledger is on this machine'];
  const balances = await readBalances(options.database);
  if (balances.size === 0) return ['the service holds nothing'];
  const found: string[] = [];
  for (const tool of judges) {
    const journal = join(options.folder, `books.${tool}`);
    const { code, lastWords } = await options.run(['export', '--format', tool, '--out', journal]);
    const verdict =
      code === 0
        ? await judge(tool, journal, balances)
        : `the export ended with ${code}: ${lastWords}`;
    if (verdict !== '') found.push(`${tool}: ${verdict}`);
  }
  return found;
}

/** An opening would make any balance equal; a history known from its first day needs none. */
async function judge(
  tool: BookTool,
  journal: string,
  balances: Map<string, string>,
): Promise<string> {
  const opening = /^.*equity:opening.*$/im.exec(readFileSync(journal, 'utf8'));
  if (opening) return `not all transactions are in the books: ${opening[0]}`;
  return (await judgeJournal(tool, journal)) || (await judgeBalances(tool, journal, balances));
}

/** Returns the balances of the service by coin, without trailing zeros. */
async function readBalances(database: pg.Pool): Promise<Map<string, string>> {
  const { rows } = await database.query<{ symbol: string; balance: string }>(`
    select symbol, trim_scale(sum(balance::numeric))::text as balance from oracle.balances
     group by symbol having sum(balance::numeric) <> 0`);
  return new Map(rows.map(({ symbol, balance }) => [symbol, balance]));
}
