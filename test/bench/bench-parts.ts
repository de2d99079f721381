import type { BenchPart } from './bench.ts';
import { analystQueries } from './parts/analyst-queries.ts';
import { backfillDetails } from './parts/backfill-details.ts';
import { backfillList } from './parts/backfill-list.ts';
import { booksPart } from './parts/books.ts';
import { explorerPagesPart } from './parts/explorer-pages.ts';
import { feedPart } from './parts/feed.ts';
import { besideTroublePart, freshnessPart } from './parts/freshness.ts';
import { hintsPart } from './parts/hints.ts';
import { idleDaemonPart } from './parts/idle-daemon.ts';
import { lateRow } from './parts/late-row.ts';
import { liveWritesPart } from './parts/live-writes.ts';
import { lyingService } from './parts/lying-service.ts';
import { manyWalletsPart } from './parts/many-wallets.ts';
import { newAddressesPart } from './parts/new-addresses.ts';
import { quietTick } from './parts/quiet-tick.ts';
import { requestBudgetPart, sharedBudgetPart } from './parts/request-budget.ts';
import { takeAddressPart } from './parts/take-address.ts';
import { underLoadPart } from './parts/under-load.ts';

/** In the order in which they run. */
export const benchParts: BenchPart[] = [
  backfillList,
  backfillDetails,
  requestBudgetPart,
  quietTick,
  freshnessPart,
  idleDaemonPart,
  analystQueries,
  booksPart,
  explorerPagesPart,
  sharedBudgetPart,
  lateRow,
  lyingService,
  takeAddressPart,
  newAddressesPart,
  hintsPart,
  besideTroublePart,
  underLoadPart,
  feedPart,
  manyWalletsPart,
  liveWritesPart,
];
