import type { PlantedBug } from './planted-bug.ts';

const retries = 'test/service/retries.test.ts';
const transport = 'test/service/transport.test.ts';
const decimals = 'test/service/decimal-text.test.ts';

/** Mistakes between the service and the program: numbers, requests, the budget, secrets. */
export const serviceBugs: PlantedBug[] = [
  {
    id: 'amount-through-number',
    promise: 'Exact',
    wrong: 'an amount goes through a JavaScript number',
    file: 'src/service/field-readers.ts',
    find: 'return problem === null ? text : new Unreadable(null, problem);',
    put: 'return problem === null ? String(Number(text)) : new Unreadable(null, problem);',
    caughtBy: { file: decimals, name: 'is kept digit for digit, whatever its length' },
  },
  {
    id: 'trailing-zeros-lost',
    promise: 'Exact',
    wrong: 'zeros at the end of an amount are cut off',
    file: 'src/service/field-readers.ts',
    find: 'return problem === null ? text : new Unreadable(null, problem);',
    put: "return problem === null ? text.replace(/(\\.\\d*?)0+$/, '$1') : new Unreadable(null, problem);",
    caughtBy: { file: decimals, name: 'is kept digit for digit, whatever its length' },
  },
  {
    id: 'nan-accepted',
    promise: 'Exact',
    wrong: 'NaN is an amount, since PostgreSQL takes it',
    file: 'src/service/decimal-text.ts',
    find: '/^-?(\\d+)(?:\\.(\\d+))?(?:[eE]([+-]?\\d+))?$/',
    put: '/^(?:NaN|-?(\\d+)(?:\\.(\\d+))?(?:[eE]([+-]?\\d+))?)$/',
    caughtBy: { file: decimals, name: 'written as %j is rejected' },
  },
  {
    id: 'sixteen-digits-rounded',
    promise: 'Exact',
    wrong: 'integers of 16 digits take the fast path of JSON.parse',
    file: 'src/service/exact-json.ts',
    find: '(?:\\d{16}|',
    put: '(?:\\d{17}|',
    caughtBy: {
      file: 'test/service/exact-json.test.ts',
      name: 'keeps %s, an integer of 16 digits, as its text',
    },
  },
  {
    id: 'post-retried',
    promise: 'Pools never lose',
    wrong: 'a request for addresses is sent again after a fault',
    file: 'src/service/call-service.ts',
    find: "const isSafe = call.method === 'GET' && failure.isRepeated;",
    put: 'const isSafe = failure.isRepeated;',
    caughtBy: { file: transport, name: 'leaves an address request in doubt, sent once' },
  },
  {
    id: 'status-is-enough',
    promise: 'Complete',
    wrong: 'HTTP 200 is a success whatever the code in the body',
    file: 'src/service/judge-answer.ts',
    find: "envelope.code === '0' && isOk) return",
    put: 'isOk) return',
    caughtBy: {
      file: retries,
      name: 'of a large page gives up after three codes, so that a smaller page is tried soon',
    },
  },
  {
    id: 'pause-of-one-process',
    promise: 'Budget',
    wrong: 'a 429 holds back only the process that met it',
    file: 'src/service/call-service.ts',
    find: 'if (failure.pauseMs !== undefined) await tickets.pause(failure.pauseMs ?? delayMs);',
    put: `if (failure.pauseMs !== undefined) await abortableSleep(failure.pauseMs ?? delayMs, signal);`,
    also: [
      {
        file: 'src/service/call-service.ts',
        find: 'const { tickets, log, random,',
        put: 'const { log, random,',
      },
    ],
    caughtBy: { file: retries, name: 'with %j they pause as after any other fault' },
  },
  {
    id: 'retry-after-uncapped',
    promise: 'Budget',
    wrong: 'a service may pause everybody for years',
    file: 'src/service/retry-after.ts',
    find: 'const pauseMaxMs = 120_000;',
    put: 'const pauseMaxMs = Number.POSITIVE_INFINITY;',
    caughtBy: { file: retries, name: 'with Retry-After %s all requests pause for %i ms' },
  },
  {
    id: 'pause-overtaken',
    promise: 'Budget',
    wrong: 'a ticket that was waiting when the pause came goes out during it',
    file: 'src/ledger/ticket-source.ts',
    find: 'if (pauses === pausesBefore && !isLate) return ticket;',
    put: 'if (pauses >= pausesBefore && !isLate) return ticket;',
    caughtBy: {
      file: 'test/ledger/ticket-source.test.ts',
      name: 'a ticket that was waiting when its process was paused is given up for a later one',
    },
  },
  {
    id: 'idle-time-saved-up',
    promise: 'Budget',
    wrong: 'slots that passed unused are given out in one burst',
    file: 'migrations/0016_home.sql',
    find: 'ahead := greatest(ahead, -0.05,',
    put: 'ahead := greatest(ahead, -10,',
    caughtBy: {
      file: 'test/ledger/ticket-source.test.ts',
      name: 'an idle time is not saved up for a burst',
    },
  },
  {
    id: 'nonce-of-the-process',
    promise: 'Budget',
    wrong: 'the nonce is the clock of the process, not the ticket’s',
    file: 'src/service/attempt-call.ts',
    find: 'buildRequest(baseUrl, call, ticket.nonce)',
    put: 'buildRequest(baseUrl, call, ticket.nonce && String(clock()))',
    caughtBy: {
      file: 'test/service/wallet-client.test.ts',
      name: 'asks for transactions with the configured names and signs the request',
    },
  },
  {
    id: 'nonce-from-the-clock',
    promise: 'Budget',
    wrong: 'two requests of one millisecond get one nonce',
    file: 'migrations/0016_home.sql',
    find: 'first_nonce := greatest(ticket.last_nonce + 1, floor(',
    put: 'first_nonce := greatest(0, floor(',
    caughtBy: {
      file: 'test/ledger/ticket-source.test.ts',
      name: 'nonces begin at the clock in their unit, and never go back when the unit becomes coarser',
    },
  },
  {
    id: 'ticket-of-the-first-attempt',
    promise: 'Budget',
    wrong: 'a repeated request carries the nonce and the signature of the first',
    file: 'src/service/attempt-call.ts',
    find: 'const ticket = await tickets.take(signal);',
    put: `const ticket = tickets.kept.get(call) ?? (await tickets.take(signal));
    tickets.kept.set(call, ticket);`,
    also: [
      {
        file: 'src/service/attempt-call.ts',
        find: 'const { tickets, clock } = options;',
        put: `const { clock } = options;
  const tickets = { ...options.tickets, kept: new Map<unknown, Ticket>() };`,
      },
    ],
    caughtBy: {
      file: retries,
      name: 'is repeated after %s, each time with a new nonce and signature',
    },
  },
  {
    id: 'redirect-followed',
    promise: 'Secrets',
    wrong: 'a redirect takes the signed headers to another address',
    file: 'src/service/pooled-fetch.ts',
    find: 'new Agent({ headersTimeout: 0, bodyTimeout: 0 })',
    put: "new Agent({ headersTimeout: 0, bodyTimeout: 0 }).compose((await import('undici')).interceptors.redirect({ maxRedirections: 3 }))",
    caughtBy: { file: transport, name: 'that redirects is not followed, and names the setting' },
  },
  {
    id: 'body-without-end',
    promise: 'Proportional',
    wrong: 'an answer is read to its end, however long',
    file: 'src/service/pooled-fetch.ts',
    find: 'unpacker(body, { maxOutputLength: bodyBytesMax })',
    put: 'unpacker(body)',
    caughtBy: { file: transport, name: 'that unpacks to more than 8 MiB is not read to the end' },
  },
  {
    id: 'secret-in-error',
    promise: 'Secrets',
    wrong: 'a key that cannot be read is quoted in the error',
    file: 'src/service/signing-key.ts',
    find: "'WALLET_API_SECRET is not a readable private key: expected",
    put: "'WALLET_API_SECRET: ' + secret + ' is not a readable private key: expected",
    caughtBy: {
      file: 'test/service/signing.test.ts',
      name: 'never shows in the error for %s, which names the setting',
    },
  },
  {
    id: 'encoded-secret-shown',
    promise: 'Secrets',
    wrong: 'a secret inside a URL, percent-encoded, is not recognised',
    file: 'src/kernel/redact.ts',
    find: "    new URLSearchParams({ '': wellFormed }).toString().slice(1),\n",
    put: '',
    caughtBy: {
      file: 'test/kernel/redact.test.ts',
      name: 'no planted secret is left, in any encoding, anywhere',
    },
  },
  {
    id: 'token-by-prefix',
    promise: 'Secrets',
    wrong: 'whatever begins with the token is let in',
    file: 'src/http/check-token.ts',
    find: 'timingSafeEqual(digest(given), digest(token));',
    put: 'timingSafeEqual(digest(given.slice(0, token.length)), digest(token));',
    caughtBy: {
      file: 'test/http/start-http.test.ts',
      name: 'the token is taken as it should be: %s',
    },
  },
];
