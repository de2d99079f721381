import { readTrustedFile } from '../../config/read-trusted-file.ts';
import { countWords } from '../../kernel/count-words.ts';
import { LedgerError, toError } from '../../kernel/errors.ts';
import { acceptMove, acknowledgeMoves, movesToRecord } from '../../ledger/accept-move.ts';
import {
  type BadLine,
  findContradictions,
  type HandedOut,
  markHandedOut,
} from '../../ledger/addresses/handed-out-store.ts';
import type { Ledger, LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import { healHome, readAway } from '../../ledger/home-store.ts';
import { type Move, readMoves, readSettledMove } from '../../ledger/move-store.ts';
import { rebuildWhileAway } from '../../ledger/rebuild-derived.ts';
import { printableText } from '../../service/decoding/printable-text.ts';
import { counted } from '../../status/status-words.ts';
import type { CommandContext } from '../context/command-context.ts';
import { refuseOtherWallet, sayOtherWallet } from '../context/compare-wallet.ts';
import { numberAtEnd } from '../context/number-at-end.ts';
import { openExistingLedger } from '../context/open-existing-ledger.ts';
import { jsonDocument } from '../output/json-document.ts';
import { readHandedOut } from '../read-handed-out.ts';

export type RecoverOptions = {
  handedOut?: string;
  same?: boolean;
  everyMove?: boolean;
  wallet?: string;
  json?: boolean;
};

/**
 * Runs `wallet-ledger recover`: prints the moves that were found. `handedOut` names a CSV file of addresses that were
 * handed out. `same` declares that nothing was lost in the one move that is not recorded yet, with `everyMove` in all
 * of them. Resolves to 3 while no address is handed out or generated, and while a move is not recorded for a wallet.
 */
export async function recover(context: CommandContext, options: RecoverOptions): Promise<number> {
  const path = options.handedOut;
  const list = path === undefined ? null : readList(path);
  const { ledger } = await openExistingLedger(context);
  // A move concerns all wallets of the database.
  const { walletNames, wallet } = context.settings;
  const isChange = list !== null || options.same === true;
  await (isChange ? refuseOtherWallet : sayOtherWallet)(context, ledger, walletNames);
  if (list || options.same) {
    numberAtEnd(context, ledger);
    const concerned = options.wallet === undefined && !list ? walletNames : [wallet];
    const { marked, back } = await settle(ledger, list, options, concerned);
    process.stderr.write(
      `${concerned.join(', ')}: ${counted(marked, 'address was', 'addresses were')} marked as handed out; ${countWords(back)} became available again\n`,
    );
  }
  const found = { away: await readAway(ledger.db), moves: await readMoves(ledger.db) };
  process.stdout.write(
    options.json
      ? jsonDocument(found)
      : pageOf(found, await readSettledMove(ledger.db), walletNames),
  );
  const isSettled = found.away === null && found.moves.length === 0;
  return isSettled ? 0 : 3;
}

/** Uses one transaction, so that a line that does not fit leaves the database unchanged. */
async function settle(
  ledger: Ledger,
  list: HandedOut[] | null,
  { same, everyMove }: RecoverOptions,
  wallets: readonly string[],
) {
  await rebuildWhileAway(ledger);
  return await ledger.longTransaction(async (db) => {
    if (same && !everyMove) refuseSeveral(await movesToRecord(db, wallets));
    const marked = list ? await handOut(db, list) : 0;
    const back = same ? await acceptMove(db, wallets) : 0;
    await acknowledgeMoves(db, wallets);
    return { marked, back };
  });
}

/**
 * An operator who means the last move would also release what an earlier one set aside, so each move must be confirmed.
 */
function refuseSeveral(moves: Move[]): void {
  if (moves.length < 2) return;
  process.stderr.write(moves.map((move) => `${lineOf(move)}\n`).join(''));
  throw new LedgerError(
    'usage',
    `--same confirms one move, and the ${countWords(moves.length)} moves above are not recorded yet; nothing was written`,
    {
      cure: 'if an address was handed out after any of the backups, run `wallet-ledger recover --handed-out FILE`, which records all of them; only if nothing was lost in any of them, run `wallet-ledger recover --same --every-move`',
    },
  );
}

async function handOut(db: LedgerDb, list: HandedOut[]): Promise<number> {
  await healHome(db);
  refuse(await findContradictions(db, list));
  return await markHandedOut(db, list);
}

function readList(path: string): HandedOut[] {
  const { list, bad } = readHandedOut(readText(path));
  refuse(bad);
  if (list.length > 0) return list;
  // An empty list is most likely the output of a failed query, so it must not settle the move.
  throw new LedgerError('usage', `${path} names no address; nothing was written`, {
    cure: 'name the addresses that were handed out; if none was, run it with --same',
  });
}

function readText(path: string): string {
  try {
    return readTrustedFile(path);
  } catch (thrown) {
    if (thrown instanceof LedgerError) throw thrown;
    throw unreadable(path, toError(thrown));
  }
}

function unreadable(path: string, cause: Error): LedgerError {
  const cure = 'name a CSV file of slip44, address, reference';
  return new LedgerError('usage', `${path} cannot be read: ${cause.message}`, { cause, cure });
}

/** Prints every bad line and throws LedgerError `usage`, before any of the lines is written. */
function refuse(bad: BadLine[]): void {
  if (bad.length === 0) return;
  for (const { line, reason } of bad)
    process.stderr.write(`line ${line}: ${printableText(reason)}\n`);
  throw new LedgerError(
    'usage',
    `${counted(bad.length, 'line', 'lines')} of the CSV file cannot be used; nothing was written`,
    { cure: 'correct the lines named above, then run the command again' },
  );
}

function pageOf(
  { away, moves }: { away: string | null; moves: Move[] },
  settled: Move | null,
  walletNames: readonly string[],
): string {
  const lines = moves.map(lineOf);
  if (away !== null)
    lines.push(`the database has moved (${away}): no address is handed out or generated`);
  const waiting = [...new Set(moves.flatMap(({ waitingFor }) => waitingFor))];
  const isNoted = away === null || moves.some(({ healedAt }) => healedAt === null);
  const count = moves.length + (isNoted ? 0 : 1);
  if (count > 0) return `${[...lines, ...adviceFor(count, waiting, walletNames)].join('\n')}\n`;
  return settled === null
    ? 'the database has not moved; there is nothing to do\n'
    : `there is nothing to do; the last move is settled:\n${lineOf(settled)}\n`;
}

function lineOf(move: Move): string {
  const { what, noticedAt, healedAt, setAside, closedRequests, waitingFor } = move;
  const done =
    healedAt === null
      ? 'not recovered yet'
      : `recovered at ${healedAt}: ${counted(setAside, 'available address was', 'available addresses were')} set aside, ${counted(closedRequests, 'open request', 'open requests')} closed`;
  const waiting = waitingFor.length > 0 ? `; not recorded yet for ${waitingFor.join(', ')}` : '';
  return `${noticedAt}: ${what}; ${done}${waiting}`;
}

/**
 * `moves`: number of moves; `waiting`: wallets for which one is not recorded; `walletNames`: those of the setting
 * WALLETS.
 */
function adviceFor(
  moves: number,
  waiting: readonly string[],
  walletNames: readonly string[],
): string[] {
  const hasSeveral = walletNames.length > 1;
  const [of, each] = hasSeveral ? [' --wallet NAME', ' for each wallet'] : ['', ''];
  const isOne = moves === 1;
  const elsewhere = waiting.filter((name) => !walletNames.includes(name));
  return [
    `The ledger does not know which addresses were handed out after ${isOne ? 'the backup' : 'each of these backups'}. Run one of these${each}:`,
    `  wallet-ledger recover --handed-out FILE${of}   FILE: CSV of slip44, address, reference of every address handed out`,
    isOne
      ? `  wallet-ledger recover --same${of}              nothing was lost: the addresses that were set aside become available again`
      : `  wallet-ledger recover --same --every-move${of} nothing was lost in any of these moves: all that was set aside becomes available again`,
    ...(elsewhere.length > 0
      ? [`WALLETS does not name ${elsewhere.join(', ')}: run it there with the settings that do`]
      : []),
  ];
}
