import type { BenchPart } from './bench.ts';
import { analystQueries } from './parts/analyst-queries.ts';
import { lateRow } from './parts/late-row.ts';
import { quietTick } from './parts/quiet-tick.ts';

/** In the order in which they run. */
export const benchParts: BenchPart[] = [quietTick, lateRow, analystQueries];
