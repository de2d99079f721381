import { readFileSync } from 'node:fs';
import { LedgerError, toError } from '../../kernel/errors.ts';
import {
  type BadLine,
  findContradictions,
  type HandedOut,
  markHandedOut,
} from '../../ledger/addresses/handed-out-store.ts';
import type { Ledger, LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import {
  acceptMove,
  acknowledgeMoves,
  healHome,
  type Move,
  readAway,
  readMoves,
} from '../../ledger/home-store.ts';
import { printableText } from '../../service/decoding/printable-text.ts';
import { countWords } from '../../status/status-words.ts';
import type { CommandContext } from '../command-context.ts';
import { openExistingLedger } from '../open-existing-ledger.ts';
import { readHandedOut } from '../read-handed-out.ts';

export type RecoverOptions = { handedOut?: string; same?: boolean; json?: boolean };

/**
 * Runs `wallet-ledger recover`: prints the moves that were found. `handedOut` names a CSV file of addresses that were
 * handed out; `same` declares that nothing was lost. Resolves to 3 while no address is handed out or generated.
 */
export async function recover(context: CommandContext, options: RecoverOptions): Promise<number> {
  const path = options.handedOut;
  const list = path === undefined ? null : readList(path);
  const { ledger } = await openExistingLedger(context);
  if (list || options.same) {
    const { marked, back } = await settle(ledger, list, options.same ?? false);
    process.stderr.write(
      `${countWords(marked)} addresses were marked as handed out; ${countWords(back)} became available again\n`,
    );
  }
  const found = { away: await readAway(ledger.db), moves: await readMoves(ledger.db) };
  process.stdout.write(options.json ? `${JSON.stringify(found, null, 2)}\n` : pageOf(found));
  return found.away === null ? 0 : 3;
}

/** Uses one transaction, so that a line that does not fit leaves the database unchanged. */
async function settle(ledger: Ledger, list: HandedOut[] | null, isSame: boolean) {
  return await ledger.transaction(async (db) => {
    const marked = list ? await handOut(db, list) : 0;
    const back = isSame ? await acceptMove(db) : 0;
    await acknowledgeMoves(db);
    return { marked, back };
  });
}

async function handOut(db: LedgerDb, list: HandedOut[]): Promise<number> {
  await healHome(db);
  refuse(await findContradictions(db, list));
  return await markHandedOut(db, list);
}

function readList(path: string): HandedOut[] {
  const { list, bad } = readHandedOut(readText(path));
  refuse(bad);
  return list;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (thrown) {
    throw unreadable(path, toError(thrown));
  }
}

function unreadable(path: string, cause: Error): LedgerError {
  const cure = 'name a CSV file of chain (slip44), address, reference';
  return new LedgerError('usage', `${path} cannot be read: ${cause.message}`, { cause, cure });
}

/** Prints every bad line and throws LedgerError `usage`, before any of the lines is written. */
function refuse(bad: BadLine[]): void {
  if (bad.length === 0) return;
  for (const { line, reason } of bad)
    process.stderr.write(`line ${line}: ${printableText(reason)}\n`);
  throw new LedgerError(
    'usage',
    `${countWords(bad.length)} lines do not fit, and nothing was written`,
    { cure: 'correct the lines named above, and run it again' },
  );
}

function pageOf({ away, moves }: { away: string | null; moves: Move[] }): string {
  const lines = moves.map(
    ({ what, noticedAt, healedAt, setAside, closedRequests }) =>
      `${noticedAt}: ${what}; ${
        healedAt === null
          ? 'not set right yet'
          : `${countWords(setAside)} available addresses were set aside, ${countWords(closedRequests)} open requests closed`
      }`,
  );
  if (away !== null)
    lines.push(`the database has moved (${away}): no address is handed out or generated`);
  if (lines.length === 0) return 'the database is where it was; nothing waits for an answer\n';
  return `${[...lines, ...advice].join('\n')}\n`;
}

const advice = [
  'Addresses that were handed out after the backup are not known here. Then run one of:',
  '  wallet-ledger recover --handed-out FILE   FILE: chain (slip44), address, reference of every address handed out, as CSV',
  '  wallet-ledger recover --same              it was a clean move, nothing was lost: what was set aside comes back',
];
