import type { PlantedBug } from './planted-bug.ts';

/** Attacks that would succeed: answers that block the event loop, and pages that others read. */
export const securityBugs: PlantedBug[] = [
  {
    id: 'other-sites-read',
    promise: 'Secrets',
    wrong: 'a page of another site is answered with the password that the browser knows',
    in: 'refuseBySite',
    find: "!== 'cross-site'",
    put: '!== undefined',
    caughtBy:
      'a page of another site reads nothing, with the token or without; a link from there is followed',
  },
  {
    id: 'short-token',
    promise: 'Secrets',
    wrong: 'a token that can be guessed guards pages that the network can reach',
    in: 'checkStatusPages',
    find: '>= tokenLengthMin',
    put: '>= tokenLengthMin - tokenLengthMin',
    caughtBy: 'status pages off loopback need a token, unless they are off',
  },
  {
    id: 'unseen-form-unsaid',
    promise: 'Secrets',
    wrong: 'the doctor says nothing of a chain on which a wrong letter cannot be seen',
    in: 'findOdd',
    find: "form === 'strange' || form === 'other'",
    put: "form === 'misfit'",
    caughtBy:
      'a chain whose addresses never have the known form is named: a wrong letter cannot be seen there',
  },
  {
    id: 'values-without-end',
    promise: 'Proportional',
    wrong: 'an answer of millions of small values blocks everything else while it is parsed',
    in: 'openEnvelope',
    find: 'answerValues',
    put: 'answerBytes',
    caughtBy: 'of millions of %s is refused before it is parsed',
  },
  {
    id: 'exact-length-without-end',
    promise: 'Proportional',
    wrong: 'a long answer with one number of many digits blocks everything else while it is parsed',
    in: 'parseKeepingDigits',
    find: 'limits.exactLength',
    put: 'limits.answerBytes',
    caughtBy: 'of more than a MiB with a number of many digits is refused before it is parsed',
  },
  {
    id: 'rejects-without-end',
    promise: 'Proportional',
    wrong: 'every unreadable field of an answer is kept with its row, however many there are',
    in: 'decodeRows',
    find: "assertWithin('answerRejects', counted); assertWithin('rejectsLength', length);",
    put: "assertWithin('answerRejects', 0);",
    caughtBy: 'leaves so many rejects at the most, and their rows so many characters',
  },
  {
    id: 'backslashes-tried-from-each',
    promise: 'Proportional',
    wrong: 'a text of many backslashes takes seconds to redact',
    in: 'escapes',
    find: String.raw`/(?<!\\)\\+(?:u`,
    put: String.raw`/\\+(?:u`,
    caughtBy: '64 KiB of whatever text take well under a second',
  },
  {
    id: 'redacted-in-one-go',
    promise: 'Proportional',
    wrong: 'the rejects of an answer are redacted while everything else waits',
    in: 'sliceLength',
    find: '128 * 1024',
    put: 'Number.POSITIVE_INFINITY',
    caughtBy:
      'the most rejects of an answer are redacted in slices, the row that several keep once',
  },
  {
    id: 'notifications-uncounted',
    promise: 'Proportional',
    wrong: 'each notification that any role sends makes the worker ask the database',
    in: 'listenClientOf',
    find: 'this.held.has(notification.channel)',
    put: "this.held.has('')",
    caughtBy: 'of a thousand notifications two wake the worker, and none of other queues',
  },
  {
    id: 'rejects-counted-by-row',
    promise: 'Proportional',
    wrong: 'the rejects of one answer hold a transaction for a minute',
    in: 'storeRejects',
    find: 'r.source = any(${sql.param(sources)}::text[])',
    put: 'r.source = any(${sql.param(sources)}::text[]) and r.source = i.source',
    caughtBy:
      'thousands of rejects, which nothing but their payload tells apart, are stored in seconds',
  },
];
