import type { PlantedBug } from './planted-bug.ts';

const protocol =
  'lost answers, refusals, crashes at every step, two processes, a lagging list: no address is lost or requested twice';

/** Mistakes with addresses. */
export const poolBugs: PlantedBug[] = [
  {
    id: 'request-noted-after-sending',
    promise: 'Pools never lose',
    wrong: 'the request for addresses is stored only after its answer has arrived',
    in: 'writeDown',
    find: 'await insertAddressRequest(db, slip44, write.num, name)',
    put: 'insertAddressRequest.length * name.length * 0',
    also: [
      {
        in: 'openAnswers',
        find: 'const { id, slip44, addresses } = answer',
        put: `const { slip44, num, addresses } = answer;
        const made = await db.execute<{ id: number }>(sql\`insert into ledger.address_requests
          (slip44, num, state, requested_at) values (\${slip44}, \${num}, 'sent', now()) returning id::int\`);
        const id = made.rows[0]?.id ?? 0`,
      },
    ],
    caughtBy:
      'addresses from before are foreign and not counted; addresses of lost answers are found in the list, none is lost',
  },
  {
    id: 'asked-again-while-in-doubt',
    promise: 'Pools never lose',
    wrong: 'a lost answer does not delay the next request',
    in: 'decidePool',
    find: 'if (facts.open)',
    put: "if (facts.open?.state === 'sent')",
    caughtBy: protocol,
  },
  {
    id: 'not-settled',
    promise: 'Pools never lose',
    wrong: 'the list is trusted at once, although it shows new addresses late',
    in: 'decideOpen',
    find: '- open.listReadAgeMs',
    put: '- 1e9',
    caughtBy: protocol,
  },
  {
    id: 'other-chain-unasked',
    promise: 'Pools hand out once',
    wrong:
      'an answer with addresses of another chain is stored before the list of its own chain shows them',
    in: 'openAnswers',
    find: '(await isAnyElsewhere(db, slip44, addresses))',
    put: '(await isAnyElsewhere(db, slip44, []))',
    caughtBy:
      '[A4] if an answer has addresses of another chain, only addresses that the list of the requested chain shows join the pool',
  },
  {
    id: 'surplus-is-ours',
    promise: 'Pools hand out once',
    wrong: 'more new addresses than were requested are taken for ours',
    in: 'closeByList',
    find: '= (select num from request) and not bool_or(is_elsewhere)',
    put: '> 0',
    caughtBy:
      'if the list shows more new addresses after a lost answer than were requested, none of them is handed out',
  },
  {
    id: 'foreign-is-available',
    promise: 'Pools hand out once',
    wrong: 'addresses that existed before the ledger are handed out',
    in: 'storeListedAddresses',
    find: "'foreign'",
    put: "'available'",
    caughtBy: 'new addresses are foreign and counted for their chain; stored ones do not change',
  },
  {
    id: 'withdrawn-stays-available',
    promise: 'Pools hand out once',
    wrong: "an address that the service's list no longer shows is handed out",
    in: 'withholdUnlisted',
    find: "case when j.is_lost then 'foreign'",
    put: 'case when j.is_lost then a.status',
    caughtBy:
      'an available address that the list no longer shows is not handed out until it is listed again',
  },
  {
    id: 'given-back-after-move',
    promise: 'A moved database hands nothing out twice',
    wrong:
      'a withheld address that a move set aside becomes available when the list shows it again',
    in: 'withholdUnlisted',
    find: 'and a.set_aside_epoch is null as is_ours',
    put: 'as is_ours',
    caughtBy: 'a withheld address that a move has set aside stays so when the list shows it again',
  },
  {
    id: 'ceiling-per-request',
    promise: 'Pools never lose',
    wrong: 'POOL_MAX_PER_DAY limits each request, not the day',
    in: 'numOf',
    find: '- facts.generated24h',
    put: '',
    also: [
      {
        in: 'decideHindrance',
        find: 'facts.generated24h >= limits.maxPerDay',
        put: 'limits.maxPerDay <= 0',
      },
    ],
    caughtBy:
      'the daily ceiling is never exceeded, whatever answers are lost and however late the list shows the addresses',
  },
  {
    id: 'empty-list-believed',
    promise: 'Pools never lose',
    wrong: 'an address list that is suddenly empty does not stop the filling',
    in: 'decideHindrance',
    find: 'if (facts.isListGone)',
    put: 'if (facts.isListGone && facts.isFilling !== facts.isListRead)',
    caughtBy:
      'an address list that is suddenly empty is a fault and does not cause a request for addresses',
  },
  {
    id: 'taken-without-lock',
    promise: 'Pools hand out once',
    wrong: 'two concurrent calls read the same free address',
    in: 'engine.hand_out',
    find: `ORDER BY l.assigned_at DESC LIMIT 1)
             ORDER BY a.first_seen_at, a.address LIMIT 1 FOR UPDATE SKIP LOCKED`,
    put: `ORDER BY l.assigned_at DESC LIMIT 1)
             ORDER BY a.first_seen_at, a.address LIMIT 1`,
    caughtBy:
      '5,000 calls on 16 connections get 5,000 different addresses, the same one for a repeated reference, and none is left over',
  },
  {
    id: 'reference-forgotten',
    promise: 'Pools hand out once',
    wrong: 'a reference whose address has received its deposit gets no answer any more',
    in: 'engine.hand_out',
    find: `ORDER BY a.assigned_no LIMIT 1;
      IF FOUND THEN
        PERFORM`,
    put: `AND a.status = 'assigned'
       ORDER BY a.assigned_no LIMIT 1;
      IF FOUND THEN
        PERFORM`,
    caughtBy: 'a reference keeps its address after a deposit, and has another one on each chain',
  },
  {
    id: 'chains-kept-apart',
    promise: 'Pools hand out once',
    wrong: 'an address that was taken on one chain stays available on the others',
    in: 'engine.hand_out',
    find: 'AND NOT is_shared',
    put: '',
    caughtBy: 'an address that was taken on one chain belongs to the same customer on all chains',
  },
  {
    id: 'filter-not-shown',
    promise: 'Pools hand out once',
    wrong: 'addresses are available before the list has shown that it honours the chain parameter',
    in: 'openAnswers',
    find: '!isAnswerEnough(await readChainFilter(db, slip44, chainParam))',
    put: '!isAnswerEnough(await readChainFilter(db, slip44, chainParam)) && id < 0',
    caughtBy:
      'if all lists are empty, the first addresses wait until the list has shown that it honours the chain parameter',
  },
  {
    id: 'siblings-unread',
    promise: 'A moved database hands nothing out twice',
    wrong:
      'after a move a pool is filled before the lists of chains that may share addresses were read',
    in: 'decideHindrance',
    find: 'return decideSiblings(facts);',
    put: 'return facts.available < 0 ? decideSiblings(facts) : undefined;',
    caughtBy:
      'after a move no address that was handed out on a chain of the same form joins another pool',
  },
  {
    id: 'too-many-called-none',
    promise: 'Pools never lose',
    wrong:
      'an answer with more addresses than were requested is described as one without new addresses',
    in: 'describeCame',
    find: 'if (fresh === 0)',
    put: 'if (fresh === 0 || fresh > num)',
    caughtBy:
      '[A4] if an answer has more new addresses than were requested, none of them is handed out',
  },
  {
    id: 'refusal-shows-filter',
    promise: 'Pools hand out once',
    wrong: 'a service that refuses unknown chains is trusted to filter its list by chain',
    in: 'judgeFilter',
    find: "if (unused === 'empty')",
    put: "if (unused === 'empty' || unused === 'refused')",
    caughtBy:
      'a list that refuses unknown chains and ignores the parameter for known ones makes no address available: %s',
  },
  {
    id: 'coins-unread',
    promise: 'Pools hand out once',
    wrong: 'chains of the coin list are not queried before refusals count as evidence',
    in: 'seeChainFilter',
    find: 'more.slice(0, othersMax)',
    put: '[]',
    caughtBy:
      'a list that refuses unknown chains and ignores the parameter for known ones makes no address available: %s',
  },
  {
    id: 'same-form-is-broken',
    promise: 'Pools never lose',
    wrong: 'two chains of one form that list the same addresses are taken for a broken filter',
    in: 'isMixed',
    find: 'isCertain(slip44, address) && isUnfit(other, address)',
    put: 'isCertain(slip44, address)',
    caughtBy:
      'chains of one form may list the same addresses, and clear answers fill their pools: %s',
  },
  {
    id: 'refill-rewrites-pools',
    promise: 'Pools never lose',
    wrong: 'a command with another ADDRESS_POOLS rewrites the pools that a daemon fills',
    in: 'addMissingPools',
    find: 'const { added, differing }',
    put: `await mirrorPools(ledger, settings.pools.chains);
  const { added, differing }`,
    caughtBy: 'a read-only command with other settings changes no row, no pool and no state',
  },
  {
    id: 'spellings-apart',
    promise: 'Pools hand out once',
    wrong: 'an address in lower case is a different one from that in upper case',
    in: 'ledger.address_key',
    find: `replace(lower(address COLLATE "C"), '0x', '')`,
    put: 'address',
    caughtBy: 'the key of a key is itself, and the case of a hexadecimal text is ignored',
  },
  {
    id: 'other-forms-apart',
    promise: 'Pools hand out once',
    wrong: 'a Tron address in hexadecimal is a different one from that in base58',
    in: 'ledger.hex_address_key',
    find: `length(bare) = 42 AND bare LIKE '41%'`,
    put: 'false',
    caughtBy:
      'addresses that the list spells differently from the answer are recognised: none is handed out to two customers',
  },
  {
    id: 'empty-reference-served',
    promise: 'Pools hand out once',
    wrong: 'all callers whose reference is empty get the same address',
    in: 'engine.hand_out',
    find: "btrim(hand_out.reference, E' \\t\\r\\n') = ''",
    put: "hand_out.reference = '-'",
    caughtBy: '%s is an error that gives the reason',
  },
  {
    id: 'reference-unbounded',
    promise: 'Pools hand out once',
    wrong: 'a reference that does not fit into the index causes an index error',
    in: 'engine.admit_take',
    find: 'octet_length(reference) > bytes_max',
    put: 'octet_length(reference) > 9 * bytes_max',
    caughtBy: '%s is an error that gives the reason',
  },
  {
    id: 'lost-counts-nothing',
    promise: 'Pools never lose',
    wrong: 'addresses that a lost answer may have generated do not count towards POOL_MAX_PER_DAY',
    in: 'ledger.pool_levels',
    find: "<> 'failed'",
    put: "= 'done'",
    caughtBy: 'the pool levels count addresses by status, by request and by week',
  },
  {
    id: 'writers-locked-out',
    promise: 'Pools never lose',
    wrong: 'new addresses lock the whole table of deposits',
    in: 'engine.recount_use',
    find: 'PERFORM 1 FROM ledger.addresses a WHERE a.wallet = of_wallet AND a.address_key = ANY (keys) ORDER BY a.address_key, a.slip44 FOR UPDATE',
    put: 'LOCK TABLE ledger.transactions IN SHARE MODE NOWAIT',
    caughtBy: 'storing addresses and storing deposits do not wait for each other',
  },
  {
    id: 'home-compiled',
    promise: 'Pools hand out once',
    wrong:
      'each call of take_address scans a table where scans are forbidden, and is JIT-compiled for half a second',
    in: 'engine.own_place',
    find: 'WHERE h.id = 1 AND h.own_xid',
    put: 'WHERE h.own_xid',
    caughtBy:
      '%s plans no scan of a whole table: its cost, where scans are forbidden, would cause JIT compilation of each call',
  },
  {
    id: 'one-loss-is-a-limit',
    promise: 'Pools never lose',
    wrong: 'one lost answer keeps a chain at small requests for a day',
    in: 'raiseNumber',
    find: 'and (d.is_refused',
    put: 'and (d.is_refused or d.is_lost',
    caughtBy:
      'a number is requested again after one lost answer; if every answer to it is lost, it counts as a limit',
  },
  {
    id: 'adopted-twice',
    promise: 'Pools hand out once',
    wrong: '`pool adopt` takes addresses that another wallet of the ledger hands out',
    in: 'adoptForeign',
    find: 'and not exists (select ${ofOthers})',
    put: '',
    caughtBy: 'an address that belongs to another wallet is not adopted, and the reason is given',
  },
  {
    id: 'adopted-unasked',
    promise: 'Pools hand out once',
    wrong: '`pool adopt` takes all foreign addresses of a chain without --yes',
    in: 'poolAdopt',
    find: 'const adopted = yes',
    put: 'const adopted = yes !== false',
    caughtBy: 'a pool is listed, filled, taken from and joined by what the service listed already',
  },
  {
    id: 'refill-never-ends',
    promise: 'Pools never lose',
    wrong: 'a command waits twice as long after each of many lost answers',
    in: 'createLossCount',
    find: 'inRow === lossesMax',
    put: 'inRow === 2 * lossesMax',
    caughtBy: 'a pass ends if each of its answers is lost, and the next one fills the pool',
  },
  {
    id: 'strangers-on-another-chain',
    promise: 'Pools hand out once',
    wrong: 'an address that another program generated on another chain is handed out',
    in: 'engine.are_apart',
    find: 'WHEN is_generated_twice OR is_missing THEN true',
    put: 'WHEN false THEN true',
    caughtBy:
      'an address that another program generated on another chain is set aside, and handed out on no chain',
  },
];
