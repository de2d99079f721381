import type { PlantedBug } from './planted-bug.ts';

const promise = 'Addresses are addresses';
const forms = 'test/kernel/address-form.test.ts';
const refused = 'test/ledger/refused-addresses.test.ts';

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
];
