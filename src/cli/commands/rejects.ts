import { systemClock } from '../../kernel/clock.ts';
import { countWords } from '../../kernel/count-words.ts';
import { LedgerError } from '../../kernel/errors.ts';
import { printableJson } from '../../kernel/printable-json.ts';
import { redactValues } from '../../kernel/redact.ts';
import type { LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import { readDatabaseTime } from '../../ledger/connection/read-database-time.ts';
import { type OpenReject, readOpenRejects } from '../../ledger/transactions/reject-store.ts';
import { printableText } from '../../service/decoding/printable-text.ts';
import { retryRejects } from '../../sync/checks/retry-rejects.ts';
import type { CommandContext } from '../context/command-context.ts';
import { refuseOtherWallet, sayOtherWallet } from '../context/compare-wallet.ts';
import { numberAtEnd } from '../context/number-at-end.ts';
import { openExistingLedger } from '../context/open-existing-ledger.ts';

/** Number of rejects that are read at once: each payload may have 64 KiB. */
const batchRejects = 100;
const reasonMax = 60;
const orderMax = 24;

/** Runs `wallet-ledger rejects`: prints the open rejects with their reasons. */
export async function rejects(
  context: CommandContext,
  options: { json?: boolean },
): Promise<number> {
  const { ledger } = await openExistingLedger(context);
  await sayOtherWallet(context, ledger);
  const open = readOpen(ledger.db, { ids: null, hasPayloads: options.json === true }, context);
  if (options.json) await writeOut(jsonOf(open, '{\n  "rejects": ['));
  else process.stdout.write(printRejects(await tableRows(open)));
  return 0;
}

/**
 * Runs `wallet-ledger rejects retry`: decodes the payloads again. Resolves to 3 when some still cannot be decoded; in
 * the end throws LedgerError `usage` for an id that no open reject has. The JSON has the ids of the `resolved` rejects,
 * and the `open` ones in the form of `rejects --json`.
 */
export async function rejectsRetry(
  context: CommandContext,
  ids: number[],
  options: { json?: boolean },
): Promise<number> {
  const { ledger } = await openExistingLedger(context);
  await refuseOtherWallet(context, ledger);
  numberAtEnd(context, ledger);
  const retried = await retryRejects(
    ledger,
    ids.length > 0 ? ids : null,
    Math.max(systemClock(), await readDatabaseTime(ledger.db)),
  );
  const wanted = { ids: retried.open, hasPayloads: options.json === true };
  const open = readOpen(ledger.db, wanted, context);
  if (options.json) {
    await writeOut(
      jsonOf(open, `{\n  "resolved": ${JSON.stringify(retried.resolved)},\n  "open": [`),
    );
  } else {
    const counts = `${countWords(retried.resolved.length)} resolved, ${countWords(retried.open.length)} still open`;
    const table = retried.open.length > 0 ? printRejects(await tableRows(open)) : '';
    process.stdout.write(`${counts}\n${table}`);
  }
  const tried = new Set([...retried.resolved, ...retried.open]);
  const unknown = ids.filter((id) => !tried.has(id));
  if (unknown.length > 0) {
    throw new LedgerError('usage', `no open reject has the id ${unknown.join(', ')}`, {
      cure: '`wallet-ledger rejects` lists those that are open',
    });
  }
  return retried.open.length === 0 ? 0 : 3;
}

/**
 * Reads the open rejects (`ids` null: all) in batches, redacted. Leaves out the payloads, which take long to redact.
 */
async function* readOpen(
  db: LedgerDb,
  { ids, hasPayloads }: { ids: number[] | null; hasPayloads: boolean },
  { redact }: CommandContext,
): AsyncGenerator<OpenReject[]> {
  for (let after = 0; ; ) {
    const batch = await readOpenRejects(db, { after, limit: batchRejects, ids });
    const last = batch.at(-1);
    if (!last) return;
    const shown = hasPayloads ? batch : batch.map((reject) => ({ ...reject, payload: '' }));
    yield redactValues(shown, redact);
    after = last.id;
  }
}

/** Yields the document in pieces, because all payloads together may not fit into the memory. */
async function* jsonOf(
  batches: AsyncGenerator<OpenReject[]>,
  head: string,
): AsyncGenerator<string> {
  let isFirst = true;
  yield head;
  for await (const batch of batches) {
    for (const reject of batch) {
      yield `${isFirst ? '' : ','}\n${printableJson(JSON.stringify(reject, null, 2)).replace(/^/gm, '    ')}`;
      isFirst = false;
    }
  }
  yield isFirst ? ']\n}\n' : '\n  ]\n}\n';
}

/** Writes the pieces; waits until the output has taken each one. */
async function writeOut(pieces: AsyncGenerator<string>): Promise<void> {
  for await (const piece of pieces)
    await new Promise<void>((taken) => process.stdout.write(piece, () => taken()));
}

async function tableRows(batches: AsyncGenerator<OpenReject[]>): Promise<string[][]> {
  const rows: string[][] = [];
  for await (const batch of batches) rows.push(...batch.map(cellsOf));
  return rows;
}

function cellsOf(reject: OpenReject): string[] {
  return [
    String(reject.id),
    reject.source,
    cut(reject.orderNo ?? '–', orderMax),
    cut(reject.field ?? '–', orderMax),
    cut(reject.reason, reasonMax),
    countWords(reject.times),
    reject.lastSeenAt.replace('T', ' ').replace('Z', ''),
  ];
}

/** Formats a table for the terminal, without the payloads, which `--json` has. */
function printRejects(rows: string[][]): string {
  if (rows.length === 0) return 'there are no open rejects\n';
  const head = ['id', 'source', 'order', 'field', 'reason', 'times', 'last seen'];
  const table = [head, ...rows];
  const widths = head.map((_, column) =>
    table.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), 0),
  );
  const lines = table.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n\`wallet-ledger rejects --json\` has the payloads\n`;
}

function cut(text: string, max: number): string {
  const printable = printableText(text);
  return printable.length > max ? `${printable.slice(0, max - 1)}…` : printable;
}
