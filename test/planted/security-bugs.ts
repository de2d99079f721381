import type { PlantedBug } from './planted-bug.ts';

/** Attacks that would succeed: answers that block the event loop, and pages that others read. */
export const securityBugs: PlantedBug[] = [
  {
    id: 'other-sites-read',
    promise: 'Secrets',
    wrong: 'a page of another site is answered with the password that the browser knows',
    file: 'src/http/admit-request.ts',
    find: "if (c.req.header('Sec-Fetch-Site') !== 'cross-site') return null;",
    put: "if (c.req.header('Sec-Fetch-Site') !== undefined) return null;",
    caughtBy: {
      file: 'test/http/refusals.test.ts',
      name: 'a page of another site reads nothing, with the token or without; a link from there is followed',
    },
  },
  {
    id: 'short-token',
    promise: 'Secrets',
    wrong: 'a token that can be guessed guards pages that the network can reach',
    file: 'src/config/check-settings.ts',
    find: 'if (token.length >= tokenLengthMin) return [];',
    put: 'if (token.length > 0) return [];',
    caughtBy: {
      file: 'test/config/parse-settings.test.ts',
      name: 'status pages off loopback need a token, unless they are off',
    },
  },
  {
    id: 'unseen-form-unsaid',
    promise: 'Secrets',
    wrong: 'the doctor says nothing of a chain on which a wrong letter cannot be seen',
    file: 'src/doctor/check-address-forms.ts',
    find: "judged.filter(({ form }) => form === 'strange' || form === 'other')",
    put: "judged.filter(({ form }) => form === 'misfit')",
    caughtBy: {
      file: 'test/doctor/check-address-forms.test.ts',
      name: 'a chain whose addresses never have the known form is named: a wrong letter cannot be seen there',
    },
  },
  {
    id: 'values-without-end',
    promise: 'Proportional',
    wrong: 'an answer of millions of small values blocks everything else while it is parsed',
    file: 'src/service/open-envelope.ts',
    find: 'assertFewValues(rawBody, limits.answerValues.max);',
    put: 'assertFewValues(rawBody, limits.answerBytes.max);',
    caughtBy: {
      file: 'test/service/limits.test.ts',
      name: 'of millions of %s is refused before it is parsed',
    },
  },
  {
    id: 'exact-length-without-end',
    promise: 'Proportional',
    wrong: 'a long answer with one number of many digits blocks everything else while it is parsed',
    file: 'src/service/exact-json.ts',
    find: '  const { max } = limits.exactLength;',
    put: '  const { max } = limits.answerBytes;',
    caughtBy: {
      file: 'test/service/limits.test.ts',
      name: 'of more than a MiB with a number of many digits is refused before it is parsed',
    },
  },
  {
    id: 'rejects-without-end',
    promise: 'Proportional',
    wrong: 'every unreadable field of an answer is kept with its row, however many there are',
    file: 'src/service/decode-rows.ts',
    find: "    assertWithin('answerRejects', counted);\n    assertWithin('rejectsLength', length);\n",
    put: "    assertWithin('answerRejects', 0);\n",
    caughtBy: {
      file: 'test/service/limits.test.ts',
      name: 'leaves so many rejects at the most, and their rows so many characters',
    },
  },
  {
    id: 'units-replaced-one-by-one',
    promise: 'Proportional',
    wrong: 'bytes that are no UTF-8 are replaced at a cost of seconds for one answer',
    file: 'src/service/pooled-fetch.ts',
    find: 'return withUnits(text, 0xfffd, 0xdfff);',
    put: "return withUnits(text, 0, 0).replaceAll('\\uFFFD', '\\uDFFF');",
    caughtBy: {
      file: 'test/service/limits.test.ts',
      name: 'of the largest size that is no UTF-8 is read within a second',
    },
  },
  {
    id: 'backslashes-tried-from-each',
    promise: 'Proportional',
    wrong: 'a text of many backslashes takes seconds to redact',
    file: 'src/kernel/hidden-secrets.ts',
    find: String.raw`/(?<!\\)\\+(?:u`,
    put: String.raw`/\\+(?:u`,
    caughtBy: {
      file: 'test/kernel/redact.test.ts',
      name: '64 KiB of whatever text take well under a second',
    },
  },
  {
    id: 'redacted-in-one-go',
    promise: 'Proportional',
    wrong: 'the rejects of an answer are redacted while everything else waits',
    file: 'src/service/redact-client.ts',
    find: 'const sliceLength = 128 * 1024;',
    put: 'const sliceLength = Number.POSITIVE_INFINITY;',
    caughtBy: {
      file: 'test/service/redact-client.test.ts',
      name: 'the most rejects of an answer are redacted in slices, the row that several keep once',
    },
  },
  {
    id: 'notifications-uncounted',
    promise: 'Proportional',
    wrong: 'each notification that any role sends makes the worker ask the database',
    file: 'src/queue/listen-client.ts',
    find: 'if (this.held.has(notification.channel)) {',
    put: "if (this.held.has('')) {",
    caughtBy: {
      file: 'test/queue/listen-client.test.ts',
      name: 'of a thousand notifications two wake the worker, and none of other queues',
    },
  },
  {
    id: 'rejects-counted-by-row',
    promise: 'Proportional',
    wrong: 'the rejects of one answer hold a transaction for a minute',
    file: 'src/ledger/reject-store.ts',
    find: 'and r.source = any(${sql.param(sources)}::text[])',
    put: 'and r.source = any(${sql.param(sources)}::text[]) and r.source = i.source',
    caughtBy: {
      file: 'test/ledger/reject-store.test.ts',
      name: 'thousands of rejects, which nothing but their payload tells apart, are stored in seconds',
    },
  },
];
