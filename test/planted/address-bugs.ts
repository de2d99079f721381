import { migrationNamed } from './migration-named.ts';
import type { PlantedBug } from './planted-bug.ts';

const promise = 'Addresses are addresses';
const forms = 'test/kernel/address-form.test.ts';
const refused = 'test/ledger/refused-addresses.test.ts';
const withheld = 'test/security/withheld-pool.test.ts';

/** Mistakes with texts that are no addresses. */
export const addressBugs: PlantedBug[] = [
  {
    id: 'misfits-are-believed',
    promise,
    wrong: 'an address that does not fit is let through beside others that do',
    file: 'src/kernel/address-form/judge-addresses.ts',
    find: 'if (!isFormKnown) return { address: each',
    put: 'if (!isFormKnown || !isFormSeen) return { address: each',
    caughtBy: {
      file: forms,
      name: 'is not believed once another address fits, in the same answer or before',
    },
  },
  {
    id: 'near-miss-is-strange',
    promise,
    wrong: 'a wrong last letter passes for a service’s own way of writing',
    file: 'src/kernel/address-form/judge-addresses.ts',
    find: "form.read(stem + letter) === 'proven'",
    put: "form.read(stem + letter) === null && letter === ''",
    caughtBy: { file: forms, name: 'chain %i refuses %s with any other last letter' },
  },
  {
    id: 'refused-joins-the-pool',
    promise,
    wrong: 'what was refused becomes available with the rest of the answer',
    file: 'src/ledger/address-answer-store.ts',
    find: '   and a.refused is null\nreturning',
    put: 'returning',
    caughtBy: {
      file: refused,
      name: 'a generated text that is no address joins no pool and stops the chain',
    },
  },
  {
    id: 'refused-stops-nothing',
    promise,
    wrong: 'a chain asks for more although its answers hold texts that are no addresses',
    file: 'src/ledger/refused-addresses.ts',
    find: 'and refused_at is null`',
    put: 'and refused_at is not null`',
    caughtBy: {
      file: refused,
      name: 'a generated text that is no address joins no pool and stops the chain',
    },
  },
  {
    id: 'other-chains-rows-are-refused',
    promise,
    wrong: 'a list that does not heed the chain stops it for good',
    file: 'src/ledger/address-store.ts',
    find: '{ isLenient: !isChainShown }',
    put: '{ isLenient: isChainShown && false }',
    caughtBy: {
      file: refused,
      name: 'what a list shows before it was shown to heed the chain is judged when it may become available',
    },
  },
  {
    id: 'old-addresses-unjudged',
    promise,
    wrong: 'what an earlier version stored stays available',
    file: 'src/ledger/migrate-ledger.ts',
    find: 'const refused = await judgeStored(ledger);',
    put: 'const refused = judgeStored.length - 1;',
    caughtBy: {
      file: refused,
      name: 'the addresses of an earlier version are judged when it is brought up to date',
    },
  },
  {
    id: 'issuer-without-quota',
    promise: 'Roles',
    wrong: 'an issuer takes a whole pool in one transaction',
    file: migrationNamed('issuer_quota'),
    find: 'AND a.assigned_xact = pg_current_xact_id()) >= quota THEN',
    put: 'AND a.assigned_xact = pg_current_xact_id()) < 0 THEN',
    caughtBy: {
      file: withheld,
      name: 'an issuer holds half of a pool in one transaction at the most, and none of it after the refusal',
    },
  },
  {
    id: 'withheld-in-silence',
    promise: 'Roles',
    wrong: 'nobody learns that take_address gives nothing while addresses are available',
    file: migrationNamed('issuer_quota'),
    find: 'IF taken IS NULL THEN PERFORM engine.note_null_take',
    put: 'IF taken IS NOT NULL THEN PERFORM engine.note_null_take',
    caughtBy: {
      file: withheld,
      name: 'a pool that an open transaction withholds is a problem as soon as others have got nothing for ten seconds',
    },
  },
];
