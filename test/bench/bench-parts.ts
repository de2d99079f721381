import type { BenchPart } from './bench.ts';

/** In the order in which they run. */
export const benchParts: BenchPart[] = [];
