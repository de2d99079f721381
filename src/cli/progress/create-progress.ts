import type { Screen } from '../output/screen.ts';
import { createProgressMeter, type ProgressMeter } from './measure-progress.ts';
import { showBars } from './progress-bars.ts';
import { showLines } from './progress-lines.ts';

/** Shows a command's progress on stderr. `observers` are for `composeSync`. */
export type ProgressDisplay = {
  observers: Pick<ProgressMeter, 'onAttempt' | 'onSend' | 'onOpened' | 'onPause' | 'onRun'>;
  onProgress: ProgressMeter['onProgress'];
  /** Idempotent. */
  stop(): void;
};

/** Shows bars on a terminal. Elsewhere prints a line at least every 10 s, even while nothing arrives. */
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
