import { describe, expect, it } from 'vitest';
import { LedgerError } from '../../src/kernel/errors.ts';
import { createJobRunner } from '../../src/queue/run-jobs.ts';
import { recordLog } from '../support/record-log.ts';

function runnerOf(run: (signal: AbortSignal) => Promise<void>) {
  const errors: Error[] = [];
  const { log, lines } = recordLog();
  const runner = createJobRunner({
    jobs: [{ name: 'a', everyMs: 1_000, offsetMs: 0, run }],
    log,
    clock: Date.now,
    onJobError: (_, error) => errors.push(error),
  });
  const start = (signal?: AbortSignal) => runner.process({ name: 'a' }, 'token', signal);
  return { runner, start, errors, lines };
}

/** Lasts until its signal aborts, as a real job does. */
const untilAborted = (signal: AbortSignal) =>
  new Promise<void>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

describe('the job runner', () => {
  it('declares the three parameters without which BullMQ hands out no signal', () => {
    expect(runnerOf(untilAborted).runner.process).toHaveLength(3);
  });

  it('lets out errors without stack, NUL or lone surrogate, and reports them as they were thrown', async () => {
    const thrown = new LedgerError('service-refused', 'no\u0000 \ud800 way');
    const { start, errors, lines } = runnerOf(() => Promise.reject(thrown));
    const error: Error = await start().then(
      () => expect.unreachable(),
      (reason) => reason,
    );
    expect(error.message).toBe('no\ufffd \ufffd way');
    expect(error.stack).toBe(error.message);
    expect(errors).toEqual([thrown]);
    expect(lines).toMatchObject([{ level: 'warn', fields: { job: 'a', error: thrown } }]);
  });

  it('[Q1] ends a run whose lock is lost, without a failure', async () => {
    const { start, errors } = runnerOf(untilAborted);
    const lock = new AbortController();
    const run = start(lock.signal);
    lock.abort('lock lost');
    await run;
    expect(errors).toEqual([]);
  });

  it('skips a third run while two have not ended', async () => {
    const { start, runner, lines } = runnerOf(untilAborted);
    const hanging = [start(), start()];
    await start();
    expect(runner.runningCount()).toBe(2);
    expect(lines).toMatchObject([{ level: 'debug', fields: { job: 'a' } }]);
    runner.stop();
    await Promise.all(hanging);
  });

  it('runs nothing once stopped, and nothing it does not know', async () => {
    let runs = 0;
    const { start, runner } = runnerOf(async () => {
      runs += 1;
    });
    await runner.process({ name: 'of another version' }, undefined, undefined);
    runner.stop();
    await start();
    expect(runs).toBe(0);
  });
});
