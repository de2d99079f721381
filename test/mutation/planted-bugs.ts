import { addressBugs } from './address-bugs.ts';
import { alarmBugs } from './alarm-bugs.ts';
import { booksBugs } from './books-bugs.ts';
import { feedBugs } from './feed-bugs.ts';
import { historyBugs } from './history-bugs.ts';
import { homeBugs } from './home-bugs.ts';
import { ledgerBugs } from './ledger-bugs.ts';
import { libraryBugs } from './library-bugs.ts';
import { pageBugs } from './page-bugs.ts';
import type { PlantedBug } from './planted-bug.ts';
import { poolBugs } from './pool-bugs.ts';
import { proofBugs } from './proof-bugs.ts';
import { queueBugs } from './queue-bugs.ts';
import { readingBugs } from './reading-bugs.ts';
import { securityBugs } from './security-bugs.ts';
import { serviceBugs } from './service-bugs.ts';
import { statusBugs } from './status-bugs.ts';
import { walletBugs } from './wallet-bugs.ts';

/** Every planted bug, in the order of the table in docs/planted-bugs.md. */
export const plantedBugs: PlantedBug[] = [
  ...readingBugs,
  ...proofBugs,
  ...pageBugs,
  ...ledgerBugs,
  ...historyBugs,
  ...booksBugs,
  ...feedBugs,
  ...libraryBugs,
  ...serviceBugs,
  ...securityBugs,
  ...poolBugs,
  ...addressBugs,
  ...homeBugs,
  ...queueBugs,
  ...alarmBugs,
  ...statusBugs,
  ...walletBugs,
];
