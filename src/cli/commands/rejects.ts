import { systemClock } from '../../kernel/clock.ts';
import { redactValues } from '../../kernel/redact.ts';
import type { LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import { type OpenReject, readOpenRejects } from '../../ledger/transactions/reject-store.ts';
import { printableText } from '../../service/decoding/printable-text.ts';
import { countWords } from '../../status/status-words.ts';
import { retryRejects } from '../../sync/checks/retry-rejects.ts';
import type { CommandContext } from '../command-context.ts';
import { openExistingLedger } from '../open-existing-ledger.ts';

const batchRejects = 1_000;
const reasonMax = 60;
const orderMax = 24;

/** Runs `wallet-ledger rejects`: prints the open rejects with their reasons. */
export async function rejects(
  context: CommandContext,
  options: { json?: boolean },
): Promise<number> {
  const { ledger } = await openExistingLedger(context);
  const open = redactValues(await readAll(ledger.db), context.redact);
  process.stdout.write(
    options.json ? `${JSON.stringify({ rejects: open }, null, 2)}\n` : printRejects(open),
  );
  return 0;
}

/**
 * Runs `wallet-ledger rejects retry`: decodes the payloads again. Resolves to 3 when some still cannot be decoded. The
 * JSON has the ids of the `resolved` rejects, and the `open` ones in the form of `rejects --json`.
 */
export async function rejectsRetry(
  context: CommandContext,
  ids: number[],
  options: { json?: boolean },
): Promise<number> {
  const { ledger } = await openExistingLedger(context);
  const retried = await retryRejects(ledger, ids.length > 0 ? ids : null, systemClock());
  const { resolved, open } = redactValues(retried, context.redact);
  process.stdout.write(
    options.json
      ? `${JSON.stringify({ resolved: resolved.map(({ id }) => id), open }, null, 2)}\n`
      : printRetry(resolved.length, open),
  );
  const tried = new Set([...resolved, ...open].map(({ id }) => id));
  const unknown = ids.filter((id) => !tried.has(id));
  if (unknown.length > 0)
    process.stderr.write(
      `wallet-ledger: no open reject has the id ${unknown.join(', ')}; \`wallet-ledger rejects\` lists those that are open\n`,
    );
  return open.length === 0 ? 0 : 3;
}

async function readAll(db: LedgerDb): Promise<OpenReject[]> {
  const all: OpenReject[] = [];
  for (let after = 0; ; ) {
    const batch = await readOpenRejects(db, { after, limit: batchRejects, ids: null });
    const last = batch.at(-1);
    if (!last) return all;
    all.push(...batch);
    after = last.id;
  }
}

function printRetry(resolved: number, open: OpenReject[]): string {
  const words = `${countWords(resolved)} resolved, ${countWords(open.length)} still open`;
  return `${words}\n${open.length > 0 ? printRejects(open) : ''}`;
}

/** Formats a table for the terminal, without the payloads, which `--json` has. */
function printRejects(open: OpenReject[]): string {
  if (open.length === 0) return 'there are no open rejects\n';
  const head = ['id', 'source', 'order', 'field', 'reason', 'times', 'last seen'];
  const rows = open.map((reject) => [
    String(reject.id),
    reject.source,
    cut(reject.orderNo ?? '–', orderMax),
    cut(reject.field ?? '–', orderMax),
    cut(reject.reason, reasonMax),
    countWords(reject.times),
    reject.lastSeenAt.replace('T', ' ').replace('Z', ''),
  ]);
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
  return `${lines.join('\n')}\n`;
}

function cut(text: string, max: number): string {
  const printable = printableText(text);
  return printable.length > max ? `${printable.slice(0, max - 1)}…` : printable;
}
