import type { PlantedBug } from './planted-bug.ts';

/** Mistakes in separating several wallets. */
export const walletBugs: PlantedBug[] = [
  {
    id: 'views-of-every-wallet',
    promise: 'Several wallets',
    wrong: 'the internal views of the program show the rows of every wallet',
    in: 'engine.make_own_views',
    find: 'WHERE wallet = engine.wallet()',
    put: 'WHERE true',
    caughtBy: 'one daemon keeps two wallets, each as its service has it',
  },
  {
    id: 'session-of-another-wallet',
    promise: 'Several wallets',
    wrong: 'a connection keeps the wallet that used it before',
    in: 'createLending',
    find: '(wallets.get(client) ?? first) === wallet',
    put: "(wallets.get(client) ?? first) !== ''",
    caughtBy: 'one daemon keeps two wallets, each as its service has it',
  },
  {
    id: 'reader-of-every-wallet',
    promise: 'Several wallets',
    wrong: 'a role of one wallet sees the rows of all',
    in: 'engine.seen_wallets',
    find: 'IF NOT EXISTS (SELECT FROM engine.reader_wallets)',
    put: 'IF EXISTS (SELECT FROM engine.reader_wallets)',
    caughtBy: 'a role of one wallet sees no row of another through any relation of the ledger',
  },
  {
    id: 'views-without-a-barrier',
    promise: 'Several wallets',
    wrong:
      'the conditions of a role of one wallet are evaluated on rows of others, and their errors contain the values',
    in: 'engine.settle_barriers',
    find: 'EXISTS (SELECT FROM engine.reader_wallets)',
    put: 'NOT EXISTS (SELECT FROM engine.reader_wallets)',
    caughtBy:
      'a role of one wallet learns nothing of another by conditions that fail on a hidden value',
  },
  {
    id: 'one-secret-per-ledger',
    promise: 'Several wallets',
    wrong: 'a secret that two wallets at different services share is refused',
    in: 'checkKeys',
    find: '? `${values.WALLET_BASE_URL} ${key}` : null',
    put: '? key : null',
    caughtBy: 'is none at different services: a secret without a prefix holds for all',
  },
];
