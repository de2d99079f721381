import type { Screen } from '../screen.ts';
import { createProgressMeter, type ProgressMeter } from './measure-progress.ts';
import { showBars } from './progress-bars.ts';
import { showLines } from './progress-lines.ts';

/** Shows how far a command is, on stderr. `observers` are for the tools that do the work. */
export type ProgressDisplay = {
  observers: Pick<ProgressMeter, 'onAttempt' | 'onPause' | 'onRun'>;
  onProgress: ProgressMeter['onProgress'];
  /** May be called again. */
  stop(): void;
};

/** Bars on a terminal; elsewhere a line at least every 10 s, also while nothing arrives. */
export function createProgress(screen: Screen): ProgressDisplay {
  const meter = createProgressMeter(() => performance.now());
  const end = screen.stream.isTTY
    ? showBars(screen, meter)
    : showLines((text) => screen.stream.write(text), meter);
  let isStopped = false;
  return {
    observers: meter,
    onProgress: meter.onProgress,
    stop() {
      if (!isStopped) end();
      isStopped = true;
    },
  };
}
