import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createBeancountJournal } from '../../export/beancount-journal.ts';
import { createPlainJournal } from '../../export/plain-journal.ts';
import { writeWholeFile } from '../../export/whole-file.ts';
import { writeCsv } from '../../export/write-csv.ts';
import { type JournalCounts, writeJournal } from '../../export/write-journal.ts';
import { writeParquet } from '../../export/write-parquet.ts';
import { countOf, countWords } from '../../kernel/count-words.ts';
import { LedgerError } from '../../kernel/errors.ts';
import type { Books } from '../../ledger/reports/books.ts';
import { openBooks } from '../../ledger/reports/read-books.ts';
import type { CommandContext } from '../context/command-context.ts';
import { sayOtherWallet } from '../context/compare-wallet.ts';
import { openExistingLedger } from '../context/open-existing-ledger.ts';

type ExportFormat = 'hledger' | 'beancount' | 'ledger' | 'csv' | 'parquet';

/** Days are UTC, both included. Without `out` the books go to standard output. */
export type ExportOptions = { format: ExportFormat; from?: string; to?: string; out?: string };

type Pieces = AsyncIterable<string | Uint8Array>;

/** Runs `wallet-ledger export`: writes the books of the period in the format. Resolves to 0. */
export async function exportBooks(
  context: CommandContext,
  { format, from, to, out }: ExportOptions,
): Promise<number> {
  if (from !== undefined && to !== undefined && from > to) {
    throw new LedgerError('usage', `--from ${from} is later than --to ${to}`);
  }
  if (out === '') {
    throw new LedgerError('usage', 'the path of --out is empty', {
      cure: 'name a file, or leave --out out',
    });
  }
  if (format === 'parquet' && out === undefined && process.stdout.isTTY) {
    throw new LedgerError('usage', 'Parquet is not for a terminal', {
      cure: 'name a file with --out, or redirect the output',
    });
  }
  const { ledger } = await openExistingLedger(context);
  await sayOtherWallet(context, ledger);
  const { signal } = context.shutdown;
  const { books, end } = await openBooks(ledger, { from: from ?? null, to: to ?? null });
  // Ends a running statement. Then writing the pieces fails, and a partial file is removed.
  const stop = () => void end().catch(() => undefined);
  signal.addEventListener('abort', stop);
  try {
    const { pieces, summary } = writerOf(books, format);
    await (out === undefined ? toStandardOutput(pieces) : writeWholeFile(out, pieces));
    process.stderr.write(
      `${[...summary(), ...closedWords(books), ...unpostedWords(books)].join('\n')}\n`,
    );
    return 0;
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    await end();
  }
}

function writerOf(books: Books, format: ExportFormat): { pieces: Pieces; summary: () => string[] } {
  if (format === 'csv' || format === 'parquet') {
    let postings = 0;
    const count = (more: number) => {
      postings += more;
    };
    const pieces = format === 'csv' ? writeCsv(books, count) : writeParquet(books, count);
    return { pieces, summary: () => [`exported ${countOf(postings, 'posting', 'postings')}`] };
  }
  const journal =
    format === 'beancount' ? createBeancountJournal(books.names) : createPlainJournal(format);
  const counts: JournalCounts = { transactions: 0, asserted: 0, contradicted: 0 };
  return { pieces: writeJournal(books, journal, counts), summary: () => journalWords(counts) };
}

function journalWords({ transactions, asserted, contradicted }: JournalCounts): string[] {
  const exported = countOf(transactions, 'transaction', 'transactions');
  const done = `exported ${exported}; ${countOf(asserted, 'reported balance is', 'reported balances are')} asserted`;
  const differ = countOf(contradicted, 'reported balance differs', 'reported balances differ');
  const remarks = contradicted === 1 ? 'is a remark' : 'are remarks';
  const differing = `${differ} from the transactions and ${remarks} in the journal; see the view ledger.reconciliation`;
  return contradicted === 0 ? [done] : [done, differing];
}

function closedWords({ closedMonths }: Books): string[] {
  if (closedMonths.length === 0) return [];
  return [
    `as closed: ${closedMonths.join(', ')}; what came or changed afterwards is not in it, see \`wallet-ledger close list\``,
  ];
}

function unpostedWords({ unposted }: Books): string[] {
  if (unposted === 0) return [];
  const [values, them] =
    unposted === 1
      ? ['1 value is not known yet and is', 'it']
      : [`${countWords(unposted)} values are not known yet and are`, 'them'];
  return [`${values} not in the books; the view ledger.unposted_values names ${them}`];
}

async function toStandardOutput(pieces: Pieces): Promise<void> {
  await pipeline(Readable.from(pieces), process.stdout, { end: false }).catch((error) => {
    if (error.code !== 'EPIPE') throw error;
    throw new LedgerError('unexpected', 'the reader of the output left before its end', {
      cause: error,
      cure: 'read the output to its end, or write a file with --out',
    });
  });
}
