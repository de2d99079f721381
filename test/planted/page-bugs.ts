import type { PlantedBug } from './planted-bug.ts';

const tolerant = 'test/service/tolerant-decoding.test.ts';
const unreadable = 'test/sync/unreadable-pages.test.ts';
const sizes = 'test/sync/page-sizes.test.ts';
const decidePool = 'test/sync/decide-pool.test.ts';

/** Mistakes with pages that cannot be read, empty lists, and sizes that are lowered. */
export const pageBugs: PlantedBug[] = [
  {
    id: 'bad-bytes-pass',
    promise: 'Exact',
    wrong: 'bytes that are not UTF-8 are replaced without a word, in keys too',
    file: 'src/service/pooled-fetch.ts',
    find: "return text.replaceAll('\\uFFFD', '\\uDFFF');",
    put: 'return text;',
    caughtBy: {
      file: tolerant,
      name: 'cost one field of one row, or the row whose key they stand in, and never the page',
    },
  },
  {
    id: 'odd-answer-at-once',
    promise: 'Complete',
    wrong: 'a fault on the way is taken for what the service means the first time it comes',
    file: 'src/service/call-service.ts',
    find: 'const oddAnswersMax = 3;',
    put: 'const oddAnswersMax = 0;',
    caughtBy: {
      file: tolerant,
      name: 'are asked for again first: on the way they may come about once',
    },
  },
  {
    id: 'post-read-tolerantly',
    promise: 'Pools never lose',
    wrong: 'the answer to an address request is read although it is no JSON',
    file: 'src/service/judge-answer.ts',
    find: "openEnvelope(answer.rawBody, method === 'GET')",
    put: 'openEnvelope(answer.rawBody, true)',
    caughtBy: { file: tolerant, name: 'in the answer to an address request leaves it in doubt' },
  },
  {
    id: 'nan-inside-strings',
    promise: 'Exact',
    wrong: 'an escaped quote is taken for the end of a text, and NaN inside it for a number',
    file: 'src/service/exact-json.ts',
    find: 'if (backslashes % 2 === 0) return end + 1;',
    put: 'if (backslashes >= 0) return end + 1;',
    caughtBy: { file: tolerant, name: 'is found outside strings only, whatever the strings hold' },
  },
  {
    id: 'null-list-is-empty',
    promise: 'Complete',
    wrong: 'a page without a list is an empty page whatever its total says',
    file: 'src/service/open-page.ts',
    find: 'const isNothing = page.totalSize !== null && rowsBefore >= page.totalSize;',
    put: 'const isNothing = rowsBefore >= 0;',
    caughtBy: { file: tolerant, name: '(%s) is malformed' },
  },
  {
    id: 'decimal-total-unusable',
    promise: 'Complete',
    wrong: 'a total that is written as 1250.0 or 1.25e3 is no total',
    file: 'src/service/field-readers.ts',
    find: 'return !/[1-9]/.test(',
    put: 'return !/[0-9]/.test(',
    caughtBy: { file: tolerant, name: 'written as %s is the total %j' },
  },
  {
    id: 'one-failure-is-bad',
    promise: 'Complete',
    wrong: 'a row whose answer failed once is taken for bad',
    file: 'src/sync/divide-page.ts',
    find: 'const confirmations = 2;',
    put: 'const confirmations = 0;',
    caughtBy: {
      file: unreadable,
      name: 'a row is called bad only after several answers, its place read alone included',
    },
  },
  {
    id: 'division-storm',
    promise: 'Budget',
    wrong: 'a service that is down has each of its pages divided down to single rows',
    file: 'src/sync/divide-page.ts',
    find: 'if (!division.hasEvidence) throw new GivenUp();',
    put: '',
    caughtBy: {
      file: unreadable,
      name: 'a fault of the whole service starts no storm of smaller pages',
    },
  },
  {
    id: 'own-sizes-trusted',
    promise: 'Complete',
    wrong: 'smaller pages are put together although the service serves pages of its own size',
    file: 'src/sync/divide-page.ts',
    find: 'if (listed > part.size || isOther || isShort) {',
    put: 'if (isOther) {',
    caughtBy: {
      file: unreadable,
      name: 'a service that serves pages of its own size is not divided: the failure is its own',
    },
  },
  {
    id: 'divided-every-pass',
    promise: 'Quiet',
    wrong: 'a page with a bad row is divided again in every pass over an unchanged list',
    file: 'src/sync/sized-pages.ts',
    find: 'if (known && (await isUnmoved(source, known, signal))) return known.content;',
    put: 'if (known) await isUnmoved(source, known, signal);',
    caughtBy: {
      file: unreadable,
      name: 'one bad row costs a search for it, not a request per row; an unchanged list then two requests a pass',
    },
  },
  {
    id: 'divided-page-kept-blindly',
    promise: 'Complete',
    wrong: 'a divided page is taken from memory although rows have arrived',
    file: 'src/sync/sized-pages.ts',
    find: 'if (known && (await isUnmoved(source, known, signal))) return known.content;',
    put: 'if (known && (await isUnmoved(source, known, signal)) !== null) return known.content;',
    caughtBy: {
      file: unreadable,
      name: 'rows that arrive move the bad one: it stays one reject, and the new rows come in',
    },
  },
  {
    id: 'reject-of-the-place',
    promise: 'Exact',
    wrong: 'the reject of a bad row holds its page number: each arrival makes another one',
    file: 'src/service/unreadable-answer.ts',
    find: 'const rows = this.#body.slice(start.index + start[0].length);',
    put: 'const rows = this.#body.slice(0);',
    caughtBy: {
      file: unreadable,
      name: 'rows that arrive move the bad one: it stays one reject, and the new rows come in',
    },
  },
  {
    id: 'divided-page-looks-new',
    promise: 'Monotonic',
    wrong: 'rows that were read early pass for as new as the last part of their page',
    file: 'src/sync/assemble-page.ts',
    find: 'observation: Math.min(',
    put: 'observation: Math.max(',
    caughtBy: {
      file: unreadable,
      name: 'a page read in parts is as old as its oldest part, and counts as the lowest total it met',
    },
  },
  {
    id: 'refusal-halves-for-good',
    promise: 'Proportional',
    wrong: 'one refusal of a gateway halves the page size',
    file: 'src/sync/sized-pages.ts',
    find: 'const larger = isFoundBefore ? [] : refused;',
    put: 'const larger = isFoundBefore ? refused : [];',
    caughtBy: {
      file: sizes,
      name: 'one 404 of a gateway at request %i costs two requests and no page size',
    },
  },
  {
    id: 'size-never-probed',
    promise: 'Proportional',
    wrong: 'a page size that was lowered once is never raised again',
    file: 'src/sync/sized-pages.ts',
    find: 'size: isProbe ? probeSize : askSize,',
    put: 'size: askSize,',
    caughtBy: { file: sizes, name: 'a larger size is probed once, and %s' },
  },
  {
    id: 'number-never-rises',
    promise: 'Pools never lose',
    wrong: 'a number of addresses that was lowered once stays low',
    file: 'src/sync/decide-pool.ts',
    find: 'return num < numMax || isLimited ? numMax : doubled;',
    put: 'return num > numMax && !isLimited ? doubled : numMax;',
    caughtBy: {
      file: decidePool,
      name: 'however it was lowered, the number is 200 again after a few granted requests',
    },
  },
  {
    id: 'number-rises-into-the-limit',
    promise: 'Budget',
    wrong:
      'a number that the service has refused today after granting less is asked for again and again',
    file: 'src/sync/decide-pool.ts',
    find: 'const isLimited = refusedAfterGrant !== null && doubled >= refusedAfterGrant;',
    put: 'const isLimited = refusedAfterGrant !== null && doubled < refusedAfterGrant;',
    caughtBy: {
      file: decidePool,
      name: 'a limit of the service is found, used to at least a half, and doubted once a day',
    },
  },
];
