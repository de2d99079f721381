import { migrationNamed } from './migration-named.ts';
import type { PlantedBug } from './planted-bug.ts';

const fill = 'test/sync/fill-pools.test.ts';
const keys = migrationNamed('one_address_one_customer');
/** `engine.hand_out`, as it was replaced. */
const handOut = migrationNamed('budget_and_home');
const take = 'test/ledger/take-address.test.ts';
const simulator = 'test/simulator/simulator.test.ts';
const protocol =
  'lost answers, refusals, crashes at every step, two processes, a lagging list: nothing is lost, nothing asked twice';

/** Mistakes with addresses. */
export const poolBugs: PlantedBug[] = [
  {
    id: 'request-noted-after-sending',
    promise: 'Pools never lose',
    wrong: 'the request for addresses is written down once its answer is there',
    file: 'src/ledger/pool-requests.ts',
    find: 'return await openRequest(db, slip44, write.num, name);',
    put: 'return 0;',
    also: [
      {
        file: 'src/ledger/pool-requests.ts',
        find: 'async function openRequest(',
        put: 'export async function openRequest(',
      },
      {
        file: 'src/ledger/address-answer-store.ts',
        find: 'import { lockPoolOf } from',
        put: 'import { lockPoolOf, openRequest } from',
      },
      {
        file: 'src/ledger/address-answer-store.ts',
        find: 'const { id, slip44, addresses } = answer;',
        put: `const { slip44, num, addresses } = answer;
        const id = await openRequest(ledger.db, slip44, num, ledger.instance);`,
      },
    ],
    caughtBy: {
      file: fill,
      name: 'addresses that were there before are foreign and not counted; lost answers are found in the list, none is lost',
    },
  },
  {
    id: 'asked-again-while-in-doubt',
    promise: 'Pools never lose',
    wrong: 'a lost answer does not keep the next request back',
    file: 'src/sync/decide-pool.ts',
    find: 'if (facts.open) return',
    put: "if (facts.open?.state === 'sent') return",
    caughtBy: { file: simulator, name: protocol },
  },
  {
    id: 'not-settled',
    promise: 'Pools never lose',
    wrong: 'the list is believed at once, though it shows new addresses late',
    file: 'src/sync/decide-pool.ts',
    find: 'const leftMs = settleMs(facts.losses, limits) - open.listReadAgeMs;',
    put: 'const leftMs = settleMs(facts.losses, limits) - 1e9;',
    caughtBy: { file: simulator, name: protocol },
  },
  {
    id: 'surplus-is-ours',
    promise: 'Pools hand out once',
    wrong: 'more new addresses than were asked for are taken for ours',
    file: 'src/ledger/resolve-request.ts',
    find: 'count(*) = (select num from request) and not bool_or(is_elsewhere) as is_ours',
    put: 'count(*) > 0 as is_ours',
    caughtBy: {
      file: fill,
      name: 'when a lost answer leaves more new addresses than were asked for, none of them is handed out',
    },
  },
  {
    id: 'foreign-is-available',
    promise: 'Pools hand out once',
    wrong: 'addresses that were there before are handed out',
    file: 'src/ledger/address-store.ts',
    find: "select ${slip44}::integer, l.spellings[1], l.spellings, 'foreign', now()",
    put: "select ${slip44}::integer, l.spellings[1], l.spellings, 'available', now()",
    caughtBy: {
      file: 'test/ledger/address-store.test.ts',
      name: 'new addresses are foreign and counted for their chain; stored ones stay as they are',
    },
  },
  {
    id: 'ceiling-per-request',
    promise: 'Pools never lose',
    wrong: 'POOL_MAX_PER_DAY limits each request, not the day',
    file: 'src/sync/decide-pool.ts',
    find: 'const allowance = limits.maxPerDay - facts.generated24h;',
    put: 'const allowance = limits.maxPerDay;',
    also: [
      {
        file: 'src/sync/decide-pool.ts',
        find: 'if (facts.generated24h >= limits.maxPerDay) {',
        put: 'if (limits.maxPerDay <= 0) {',
      },
    ],
    caughtBy: {
      file: simulator,
      name: 'the daily ceiling is never crossed, whatever is lost and however late the list shows it',
    },
  },
  {
    id: 'empty-list-believed',
    promise: 'Pools never lose',
    wrong: 'an address list that is suddenly empty is no reason to stop',
    file: 'src/sync/decide-pool.ts',
    find: '  if (facts.isListGone)\n',
    put: '  if (facts.isListGone && facts.isFilling !== facts.isListRead)\n',
    caughtBy: { file: fill, name: 'an address list that is suddenly empty is a fault, not a need' },
  },
  {
    id: 'taken-without-lock',
    promise: 'Pools hand out once',
    wrong: 'two calls at once read the same free address',
    file: handOut,
    find: `               AND (a.first_seen_at, a.address) > (last_seen_at, last_address)
             ORDER BY a.first_seen_at, a.address LIMIT 1 FOR UPDATE SKIP LOCKED),`,
    put: `               AND (a.first_seen_at, a.address) > (last_seen_at, last_address)
             ORDER BY a.first_seen_at, a.address LIMIT 1),`,
    caughtBy: {
      file: take,
      name: '16 connections, 5,000 calls: 5,000 different addresses, repeated references the same, none left over',
    },
  },
  {
    id: 'reference-forgotten',
    promise: 'Pools hand out once',
    wrong: 'a reference whose address has received its deposit gets no answer any more',
    file: handOut,
    find: `       WHERE a.slip44 = hand_out.slip44 AND a.assigned_to = hand_out.reference
       ORDER BY a.assigned_no LIMIT 1;`,
    put: `       WHERE a.slip44 = hand_out.slip44 AND a.assigned_to = hand_out.reference AND a.status = 'assigned'
       ORDER BY a.assigned_no LIMIT 1;`,
    caughtBy: {
      file: take,
      name: 'a reference keeps its address after a deposit, and has another one on each chain',
    },
  },
  {
    id: 'chains-kept-apart',
    promise: 'Pools hand out once',
    wrong: 'an address that was taken on one chain stays available on the others',
    file: handOut,
    find: 'IF FOUND AND NOT is_shared THEN RETURN taken; END IF;',
    put: 'IF FOUND THEN RETURN taken; END IF;',
    caughtBy: {
      file: 'test/ledger/one-customer.test.ts',
      name: 'an address that was taken on one chain is the same customer’s on all, and nobody else’s',
    },
  },
  {
    id: 'filter-not-shown',
    promise: 'Pools hand out once',
    wrong: 'addresses are available before the list has shown that it heeds the chain',
    file: 'src/ledger/address-answer-store.ts',
    find: 'if (!(await isFilterProven(db, slip44, chainParam))) {',
    put: 'if (!(await isFilterProven(db, slip44, chainParam)) && stop) {',
    also: [
      {
        file: 'src/ledger/address-answer-store.ts',
        find: 'export function openAnswers(',
        put: 'const stop = Math.random() > 2;\nexport function openAnswers(',
      },
    ],
    caughtBy: {
      file: 'test/sync/chain-filter.test.ts',
      name: 'where all lists are empty the first addresses wait until the list has shown that it heeds the chain',
    },
  },
  {
    id: 'refill-rewrites-pools',
    promise: 'Pools never lose',
    wrong: 'a command with another ADDRESS_POOLS rewrites the pools that a daemon fills',
    file: 'src/cli/open-ledger.ts',
    find: 'const { added, differing } = await addPools(ledger, settings.pools.chains);',
    put: `await mirrorPools(ledger, settings.pools.chains);
  const { added, differing } = await addPools(ledger, settings.pools.chains);`,
    caughtBy: {
      file: 'test/whole/looking.test.ts',
      name: 'looking with other settings changes no row, no pool and no judgement',
    },
  },
  {
    id: 'spellings-apart',
    promise: 'Pools hand out once',
    wrong: 'an address in lower case is another one than in upper case',
    file: keys,
    find: `THEN replace(lower(address COLLATE "C"), '0x', '')`,
    put: 'THEN address',
    caughtBy: {
      file: 'test/ledger/address-key.test.ts',
      name: 'a key is its own key, and the case of a hexadecimal text never matters',
    },
  },
  {
    id: 'empty-reference-served',
    promise: 'Pools hand out once',
    wrong: 'all callers whose reference is empty get the same address',
    file: handOut,
    find: `IF btrim(hand_out.reference, E' \\t\\r\\n') = '' THEN`,
    put: `IF hand_out.reference = '-' THEN`,
    caughtBy: {
      file: 'test/ledger/one-customer.test.ts',
      name: '%s is an error that says why',
    },
  },
  {
    id: 'lost-counts-nothing',
    promise: 'Pools never lose',
    wrong: 'what a lost answer may have generated does not count against POOL_MAX_PER_DAY',
    file: keys,
    find: "         WHERE r.slip44 = c.slip44 AND r.state <> 'failed'\n",
    put: "         WHERE r.slip44 = c.slip44 AND r.state = 'done'\n",
    caughtBy: {
      file: 'test/ledger/pool-store.test.ts',
      name: 'the levels count by status, by request and by the week',
    },
  },
  {
    id: 'writers-locked-out',
    promise: 'Pools never lose',
    wrong: 'new addresses lock the whole table of deposits',
    file: keys,
    find: '  PERFORM 1 FROM ledger.addresses a WHERE a.address_key = ANY (keys) ORDER BY a.address_key, a.slip44 FOR UPDATE;\n  UPDATE',
    put: '  LOCK TABLE ledger.transactions IN SHARE MODE NOWAIT;\n  UPDATE',
    caughtBy: {
      file: 'test/ledger/address-plans.test.ts',
      name: 'storing addresses waits for no writer of deposits, and no writer for them',
    },
  },
  {
    id: 'home-compiled',
    promise: 'Pools hand out once',
    wrong:
      'each call of take_address scans a table where scans are forbidden, and is compiled for half a second',
    file: handOut,
    find: "    WHERE h.id = 1 AND h.own_xid::text = current_setting('wallet_ledger.home', true)",
    put: "    WHERE h.own_xid::text = current_setting('wallet_ledger.home', true)",
    caughtBy: {
      file: take,
      name: '%s plans no scan of a whole table: its price, where scans are forbidden, would have each call compiled',
    },
  },
  {
    id: 'one-loss-is-a-limit',
    promise: 'Pools never lose',
    wrong: 'one lost answer keeps a chain at small requests for a day',
    file: 'src/ledger/address-answer-store.ts',
    find: '                and (d.is_refused\n                     or exists',
    put: '                and (d.is_refused or d.is_lost\n                     or exists',
    caughtBy: {
      file: fill,
      name: 'a number whose answer was lost once is asked for again, one that is lost each time is a limit',
    },
  },
  {
    id: 'adopted-unasked',
    promise: 'Pools hand out once',
    wrong: '`pool adopt` takes all foreign addresses of a chain without --yes',
    file: 'src/cli/commands/pool.ts',
    find: '  if (!yes) {\n',
    put: '  if (yes === false) {\n',
    caughtBy: {
      file: 'test/whole/pool.test.ts',
      name: 'a pool is listed, filled, taken from and joined by what the service listed already',
    },
  },
];
