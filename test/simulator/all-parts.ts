import { backoffPart } from './backoff-part.ts';
import { fencePart } from './fence-part.ts';
import type { PartName } from './part.ts';
import { poolPart } from './pool-part.ts';
import { type PartReport, type RunOptions, runPart } from './run-part.ts';
import { walkPart } from './walk-part.ts';
import { watchdogPart } from './watchdog-part.ts';

/** Every part, to be run with the product's own decisions. */
export const allParts: Record<PartName, (options: RunOptions) => Promise<PartReport>> = {
  walk: (options) => runPart(walkPart, options),
  fence: (options) => runPart(fencePart, options),
  pool: (options) => runPart(poolPart, options),
  watchdog: (options) => runPart(watchdogPart, options),
  backoff: (options) => runPart(backoffPart, options),
};
