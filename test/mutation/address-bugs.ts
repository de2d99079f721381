import type { PlantedBug } from './planted-bug.ts';

const promise = 'Addresses are addresses';

/** Mistakes with texts that are not addresses. */
export const addressBugs: PlantedBug[] = [
  {
    id: 'misfits-are-believed',
    promise,
    wrong: 'an invalid address of an answer is stored because others of the answer are valid',
    in: 'judgeReadings',
    find: '!isFormKnown',
    put: '!isFormKnown || !isFormSeen',
    caughtBy: 'is refused once another address fits, in the same answer or before',
  },
  {
    id: 'near-miss-is-strange',
    promise,
    wrong: 'a wrong last letter is accepted as the service’s own format',
    in: 'isNearMiss',
    find: "=== 'proven'",
    put: "=== null && letter === ''",
    caughtBy: 'chain %i refuses %s with any other last letter',
  },
  {
    id: 'refused-joins-the-pool',
    promise,
    wrong: 'refused addresses become available with the rest of the answer',
    in: 'storeGenerated',
    find: 'and a.refused is null',
    put: '',
    caughtBy: 'a generated text that is not an address does not join a pool and stops the chain',
  },
  {
    id: 'refused-stops-nothing',
    promise,
    wrong:
      'a chain requests more addresses although its answers contain texts that are no addresses',
    in: 'noteRefused',
    find: 'refused_at is null',
    put: 'refused_at is not null',
    caughtBy: 'a generated text that is not an address does not join a pool and stops the chain',
  },
  {
    id: 'other-chains-rows-are-refused',
    promise,
    wrong: 'a list that ignores the chain parameter stops the chain for ever',
    in: 'storeListedAddresses',
    find: '!isChainShown',
    put: 'isChainShown && false',
    caughtBy:
      'an address that was listed before the chain parameter was proven is checked before it becomes available',
  },
  {
    id: 'old-addresses-unjudged',
    promise,
    wrong: 'invalid addresses that an earlier version stored stay available',
    in: 'migrateLedger',
    find: "await judgeStored(ledger.forWallet('main'))",
    put: 'judgeStored.length - 1',
    caughtBy: 'the addresses of an earlier version are checked in the upgrade',
  },
  {
    id: 'issuer-without-quota',
    promise: 'Roles',
    wrong: 'an issuer takes a whole pool in one transaction',
    in: 'engine.require_quota',
    find: '>= quota',
    put: '< 0',
    caughtBy:
      'an issuer holds half of a pool in one transaction at the most, and none of it after the refusal',
  },
  {
    id: 'withheld-in-silence',
    promise: 'Roles',
    wrong: 'it is not reported that take_address returns nothing while addresses are available',
    in: 'engine.hand_out',
    find: 'IF taken IS NULL THEN PERFORM engine.note_null_take',
    put: 'IF taken IS NOT NULL THEN PERFORM engine.note_null_take',
    caughtBy:
      'a pool that an open transaction withholds is a problem as soon as others have got nothing for ten seconds',
  },
  {
    id: 'deleted-addresses-counted',
    promise: 'True',
    wrong: 'an address list stays complete although its rows were deleted',
    in: 'engine.uncount_addresses',
    find: 's.ledger_count - g.items',
    put: 's.ledger_count',
    caughtBy: 'a list whose rows were %s by hand is not complete until the rows are read again',
  },
  {
    id: 'answer-locks-its-own-chain-first',
    promise,
    wrong: 'an answer and a check of addresses that chains share deadlock, and one of them fails',
    in: 'storeGenerated',
    find: 'await lockAddresses(db, judged);',
    put: 'if (slip44 < -1) await lockAddresses(db, judged);',
    caughtBy: 'an answer and a check of addresses that two chains share do not deadlock',
  },
  {
    id: 'unlisted-deposit-uses-an-address',
    promise,
    wrong: 'an address stays used by a deposit that the service no longer lists',
    in: 'use_and_refusals.sql',
    find: "'AND NEW.is_listed AND '",
    put: "'AND '",
    caughtBy: 'a deposit that the service no longer lists does not count',
  },
];
