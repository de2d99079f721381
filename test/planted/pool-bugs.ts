import type { PlantedBug } from './planted-bug.ts';

const decide = 'test/sync/decide-pool.test.ts';
const fill = 'test/sync/fill-pools.test.ts';
const take = 'test/ledger/take-address.test.ts';
const protocol =
  'lost answers, refusals, crashes at every step, two processes, a lagging list: nothing is lost, nothing asked twice';

/** Mistakes with addresses. */
export const poolBugs: PlantedBug[] = [
  {
    id: 'request-noted-after-sending',
    promise: 'Pools never lose',
    wrong: 'the request for addresses is written down once its answer is there',
    file: 'src/sync/fill-pools.ts',
    find: 'const id = await openRequest(db, slip44, action.num, presence.name);',
    put: 'const id = 0;',
    also: [
      { file: 'src/sync/fill-pools.ts', find: '  openRequest,\n', put: '' },
      {
        file: 'src/sync/send-address-request.ts',
        find: '  postponePool,\n',
        put: '  openRequest,\n  postponePool,\n',
      },
      {
        file: 'src/sync/send-address-request.ts',
        find: 'const added = await ledger.transaction(async (db) => {',
        put: `request.id = await openRequest(ledger.db, slip44, request.num, ledger.instance);
    const added = await ledger.transaction(async (db) => {`,
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
    caughtBy: { file: decide, name: protocol },
  },
  {
    id: 'not-settled',
    promise: 'Pools never lose',
    wrong: 'the list is believed at once, though it shows new addresses late',
    file: 'src/sync/decide-pool.ts',
    find: "return leftMs > 0 ? { kind: 'settle', ms: leftMs }",
    put: "return leftMs > limits.settleMs ? { kind: 'settle', ms: leftMs }",
    caughtBy: { file: decide, name: protocol },
  },
  {
    id: 'surplus-is-ours',
    promise: 'Pools hand out once',
    wrong: 'more new addresses than were asked for are taken for ours',
    file: 'src/ledger/address-request-store.ts',
    find: 'count(*) <= (select num from request) as is_ours',
    put: 'count(*) >= 0 as is_ours',
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
    find: "then 'foreign' else 'used'",
    put: "then 'available' else 'used'",
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
    caughtBy: {
      file: decide,
      name: 'the requests of one day together keep to the ceiling, however often the pool is emptied',
    },
  },
  {
    id: 'empty-list-believed',
    promise: 'Pools never lose',
    wrong: 'an address list that is suddenly empty is no reason to stop',
    file: 'src/sync/decide-pool.ts',
    find: 'if (facts.isListGone) {',
    put: 'if (facts.isListGone && facts.isFilling !== facts.isListRead) {',
    caughtBy: { file: fill, name: 'an address list that is suddenly empty is a fault, not a need' },
  },
  {
    id: 'taken-without-lock',
    promise: 'Pools hand out once',
    wrong: 'two calls at once read the same free address',
    file: 'migrations/0003_take_address.sql',
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
    file: 'migrations/0003_take_address.sql',
    find: `      SELECT a.address INTO taken FROM ledger.addresses a
       WHERE a.slip44 = take_address.slip44 AND a.assigned_to = take_address.reference;`,
    put: `      SELECT a.address INTO taken FROM ledger.addresses a
       WHERE a.slip44 = take_address.slip44 AND a.assigned_to = take_address.reference
         AND a.status = 'assigned';`,
    caughtBy: {
      file: take,
      name: 'a reference keeps its address after a deposit, and has another one on each chain',
    },
  },
];
