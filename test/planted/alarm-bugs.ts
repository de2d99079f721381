import { migrationNamed } from './migration-named.ts';
import type { PlantedBug } from './planted-bug.ts';

const coins = 'test/ledger/reconciliation.test.ts';
const assets = 'test/ledger/asset-reconciliation.test.ts';
const rejects = 'test/ledger/reject-store.test.ts';
const views = migrationNamed('bounded_explanations');

/** Mistakes in telling when the transactions do not add up to the balances, and in keeping what cannot be read. */
export const alarmBugs: PlantedBug[] = [
  {
    id: 'any-reason-explains',
    promise: 'The books add up',
    wrong: 'whatever is open explains any difference, however large',
    file: views,
    find: 'c.open_amount IS NULL OR abs(d.difference) <= c.open_amount AS is_payable',
    put: "c.open_amount IS NULL OR c.reasons <> '' AS is_payable",
    caughtBy: {
      file: coins,
      name: '%s explains another coin only up to what fees were seen',
    },
  },
  {
    id: 'open-for-ever',
    promise: 'The books add up',
    wrong: 'a difference that stands stays explained as long as enough else is open',
    file: views,
    find: 'w.difference = 0 OR w.is_payable AND s.standing IS NULL,',
    put: 'w.difference = 0 OR w.is_payable,',
    caughtBy: {
      file: 'test/sync/reconciliation.test.ts',
      name: 'a sum taken away from one row is unexplained within two readings while others are open',
    },
  },
  {
    id: 'stale-lists-alarm',
    promise: 'The books add up',
    wrong: 'what moved between the reading of lists and balances is not counted as open',
    file: views,
    find: '+ coalesce(p.moved_fee, 0) + coalesce(h.moved_amount, 0)',
    put: '+ coalesce(p.moved_fee, 0)',
    caughtBy: {
      file: coins,
      name: 'a balance that moved after the lists were read is explained until they are read again',
    },
  },
  {
    id: 'chains-in-one-pot',
    promise: 'The books add up',
    wrong: 'an address that is on several chains is taken for one of the first of them',
    file: views,
    find: 'GROUP BY lower(a.address) HAVING min(a.slip44) = max(a.slip44)',
    put: 'GROUP BY lower(a.address)',
    caughtBy: {
      file: assets,
      name: 'rows of an unknown chain explain as much as they could make up, on the side where they could',
    },
  },
  {
    id: 'reject-by-payload',
    promise: 'Nothing is dropped',
    wrong: 'a reject of a known order is told apart by its payload, which changes with each answer',
    file: 'src/ledger/reject-identity.ts',
    find: "if (orderNo !== null) return digest([source, orderNo, field ?? '']);",
    put: "if (orderNo !== null) return digest([source, orderNo, field ?? '', payload]);",
    caughtBy: {
      file: rejects,
      name: 'one cause is one reject, whatever else its payload says, and writes nothing within the hour',
    },
  },
  {
    id: 'reject-never-closed',
    promise: 'Nothing is dropped',
    wrong: 'the detail that brings a value leaves its reject open',
    file: 'src/sync/detail-port.ts',
    find: 'await closeFilledRejects(tx, orderNosOf(rows), rejects);',
    put: 'await closeFilledRejects(tx, orderNosOf([]), rejects);',
    caughtBy: {
      file: 'test/sync/close-rejects.test.ts',
      name: 'the detail that brings an unreadable amount closes its reject, and no poll opens it again',
    },
  },
  {
    id: 'reject-left-open-by-the-list',
    promise: 'Nothing is dropped',
    wrong: 'the list that brings a value leaves its reject open',
    file: 'src/sync/store-batch.ts',
    find: 'await closeFilledRejects(db, orderNosOf(good), [...rejects, ...refused]);',
    put: 'await closeFilledRejects(db, orderNosOf([]), [...rejects, ...refused]);',
    caughtBy: {
      file: 'test/sync/unreadable-pages.test.ts',
      name: 'the list that brings an unreadable amount closes its reject',
    },
  },
];
