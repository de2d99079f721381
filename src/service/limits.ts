type Limit = {
  max: number;
  unit: string;
  /** The bounded quantity. */
  of: string;
  /** Consequence of exceeding the limit. */
  beyond: string;
};

const refused = 'the answer is service-malformed, and nothing of it is stored';
const noSnapshot = 'the pass ends with service-malformed, and the stored snapshot stays as it is';
const rejected = 'the field is null, and a reject keeps the received value';

/**
 * Limits for everything that an answer of the service could make large; the source of `docs/limits.md`. Amounts in an
 * asset's smallest unit have at most 78 digits on the known chains. Longer amounts are stored up to a bound that keeps
 * a page of balances cheap.
 */
export const limits = {
  answerBytes: {
    max: 8 * 1024 * 1024,
    unit: 'bytes',
    of: 'one answer, compressed and decompressed',
    beyond: refused,
  },
  /** Parsing blocks the event loop. */
  answerValues: {
    max: 120_000,
    unit: 'commas and opening brackets',
    of: 'one answer, its texts included',
    beyond: refused,
  },
  /** Parsing 120,000 different names takes 0.2 s; parsing as many values with the same names a tenth of that. */
  answerNames: {
    max: 10_000,
    unit: 'different names',
    of: 'the fields of one answer',
    beyond: refused,
  },
  exactValues: {
    max: 50_000,
    unit: 'commas and opening brackets',
    of: 'one answer with numbers whose digits JavaScript would lose',
    beyond: refused,
  },
  /** The lossless parser reads character by character, at a tenth of the speed. */
  exactLength: {
    max: 1024 * 1024,
    unit: 'characters',
    of: 'one answer with numbers whose digits JavaScript would lose',
    beyond: refused,
  },
  answerRows: { max: 10_000, unit: 'rows', of: 'one answer', beyond: refused },
  answerRejects: {
    max: 5_000,
    unit: 'rejects',
    of: 'one answer, or balances or coins of all pages together',
    beyond: refused,
  },
  /** Every unreadable field keeps its whole row: a row of 64 KiB with ten of them would be stored ten times. */
  rejectsLength: {
    max: 4 * 1024 * 1024,
    unit: 'characters',
    of: 'the rows that the rejects of one answer keep',
    beyond: refused,
  },
  snapshotRows: {
    max: 20_000,
    unit: 'rows',
    of: 'balances or coins, all pages together',
    beyond: noSnapshot,
  },
  snapshotLength: {
    max: 32 * 1024 * 1024,
    unit: 'characters',
    of: 'balances or coins, all pages together',
    beyond: noSnapshot,
  },
  snapshotPages: { max: 1_000, unit: 'pages', of: 'balances or coins', beyond: noSnapshot },
  snapshotMs: {
    max: 600_000,
    unit: 'ms',
    of: 'reading balances or coins, until the last page',
    beyond: noSnapshot,
  },
  digitsBeforePoint: {
    max: 1_000,
    unit: 'digits',
    of: 'an amount before its point',
    beyond: rejected,
  },
  digitsAfterPoint: {
    max: 1_000,
    unit: 'digits',
    of: 'an amount after its point',
    beyond: rejected,
  },
  exponent: { max: 1_000_000, unit: '', of: 'the exponent of an amount', beyond: rejected },
  textBytes: { max: 2_000, unit: 'bytes', of: 'a text field', beyond: rejected },
  keyBytes: {
    max: 256,
    unit: 'bytes',
    of: 'an orderNo, a symbol, a contract',
    beyond: 'the row is a reject',
  },
  addressBytes: { max: 1_024, unit: 'bytes', of: 'an address', beyond: 'the row is a reject' },
  payloadBytes: {
    max: 64 * 1024,
    unit: 'bytes',
    of: 'the row that a reject keeps',
    beyond: 'the rest is cut off',
  },
  extraBytes: {
    max: 16 * 1024,
    unit: 'bytes',
    of: 'the fields of a transaction that the document does not name',
    beyond: 'a note with their beginning replaces them',
  },
} as const satisfies Record<string, Limit>;
