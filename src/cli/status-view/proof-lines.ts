import { countWords } from '../../kernel/count-words.ts';
import type { StreamStatus } from '../../ledger/reports/ledger-status.ts';
import { printableText } from '../../service/decoding/printable-text.ts';
import type { StatusReport } from '../../status/status-report.ts';
import { agoWords, finalChangesWords } from '../../status/status-words.ts';
import { type BarRow, barTable } from './bar-table.ts';
import { cutTo, packNotes, type TextStyle } from './terminal-text.ts';

/** Upper bound of shown streams; an incomplete stream is always shown. */
const streamsMax = 8;
const reasonMax = 200;

/**
 * Compares the ledger's count with the service's total for each stream, and shows how many final rows have their
 * details.
 */
export function proofLines(report: StatusReport, canvas: TextStyle): string[] {
  const { streams, transactions, rejects } = report;
  if (streams.length === 0) return ['  nothing read yet'];
  const shown = streams.filter((stream, index) => index < streamsMax || !stream.isComplete);
  const hidden = streams.length - shown.length;
  const turned = finalChangesWords(streams);
  const sums = [
    `${countWords(transactions.total)} transactions`,
    `${countWords(transactions.final)} final`,
    `${countWords(rejects)} ${rejects === 1 ? 'value' : 'values'} not decoded`,
    ...(turned === null ? [] : [turned]),
  ];
  return [
    ...barTable([...shown.map(streamRow), ...detailsRow(report)], canvas),
    ...(hidden === 0 ? [] : [`    and ${countWords(hidden)} more, proven complete`]),
    ...packNotes(sums, canvas.width - 4).map((line) => `    ${line}`),
  ];
}

function streamRow(stream: StreamStatus): BarRow {
  const { name, serviceTotal, ledgerCount, isComplete, lagSeconds, verifiedThrough } = stream;
  return {
    verdict: isComplete ? 'good' : 'bad',
    name,
    part: ledgerCount,
    whole: serviceTotal ?? Number.POSITIVE_INFINITY,
    counts: `${countWords(ledgerCount)} of ${serviceTotal === null ? '?' : countWords(serviceTotal)}`,
    notes: [
      proofVerdict(stream),
      lagSeconds === null ? 'never read' : `read ${agoWords(lagSeconds)}`,
      ...(verifiedThrough === null ? [] : [`verified through ${verifiedThrough.slice(0, 10)}`]),
    ],
  };
}

function proofVerdict({ isComplete, notCompleteBecause }: StreamStatus): string {
  if (isComplete) return 'proven complete';
  return printableText(cutTo(notCompleteBecause ?? 'not read to its end', reasonMax));
}

/** Counts final rows only: they must have their details, while other rows are fetched again anyway. */
function detailsRow({ transactions }: StatusReport): BarRow[] {
  const { total, final, detailsToFetch: toFetch, detailsRefused: refused } = transactions;
  if (total === 0) return [];
  const notFinal = total - final;
  return [
    {
      verdict: toFetch === 0 ? 'good' : 'open',
      name: 'details',
      part: final - toFetch,
      whole: final,
      counts: `${countWords(final - toFetch)} of ${countWords(final)}`,
      notes: [
        toFetch === 0 ? 'all fetched' : `${countWords(toFetch)} still to fetch`,
        ...(refused === 0 ? [] : [`${countWords(refused)} refused by the service for days`]),
        ...(notFinal === 0 ? [] : [`${countWords(notFinal)} not final yet`]),
      ],
    },
  ];
}
