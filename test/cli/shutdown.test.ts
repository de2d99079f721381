import { EventEmitter, once } from 'node:events';
import { expect, test, vi } from 'vitest';
import { createShutdown } from '../../src/cli/shutdown.ts';
import { LedgerError } from '../../src/kernel/errors.ts';

function setUp(graceMs?: number) {
  const lines: string[] = [];
  const write = (fields: object, message: string) => {
    lines.push(`${message} ${JSON.stringify(fields)}`);
  };
  const host = Object.assign(new EventEmitter(), { exit: vi.fn() });
  const shutdown = createShutdown({
    log: { debug: write, info: write, warn: write, error: write },
    host: host as unknown as NodeJS.Process,
    ...(graceMs !== undefined && { graceMs }),
  });
  return { host, shutdown, lines };
}

test('a signal aborts the work and closes nothing by itself', async () => {
  const { host, shutdown } = setUp();
  const close = vi.fn();
  shutdown.add('ledger', close);
  const aborted = once(shutdown.signal, 'abort');
  host.emit('SIGTERM', 'SIGTERM');
  await aborted;
  expect(shutdown.signal.reason).toBeInstanceOf(LedgerError);
  expect(shutdown.signal.reason).toMatchObject({
    code: 'interrupted',
    message: 'stopped by SIGTERM',
  });
  expect(close).not.toHaveBeenCalled();
  await shutdown.close();
  expect(host.exit).not.toHaveBeenCalled();
});

test('closers run once, one after another, the last registered first; a failing one holds up no other', async () => {
  const { host, shutdown, lines } = setUp();
  const order: string[] = [];
  shutdown.add('database', async () => {
    order.push('database');
  });
  shutdown.add('ledger', () => Promise.reject(new Error('gone')));
  shutdown.add('workers', async () => {
    await new Promise((resolve) => setImmediate(resolve));
    order.push('workers');
  });
  await Promise.all([shutdown.close(), shutdown.close()]);
  expect(order).toEqual(['workers', 'database']);
  expect(lines).toEqual([expect.stringMatching(/^closing failed .*"closing":"ledger"/)]);
  expect(host.listenerCount('SIGTERM')).toBe(0);
});

test('[Q15] a second signal exits at once', () => {
  const { host } = setUp();
  host.emit('SIGINT', 'SIGINT');
  expect(host.exit).not.toHaveBeenCalled();
  host.emit('SIGINT', 'SIGINT');
  expect(host.exit).toHaveBeenCalledWith(130);
});

test('the grace ends a shutdown that hangs, and the log says what hung', async () => {
  const { host, shutdown, lines } = setUp(30);
  shutdown.add('queue', () => new Promise(() => undefined));
  void shutdown.close();
  await vi.waitUntil(() => host.exit.mock.calls.length > 0);
  expect(host.exit).toHaveBeenCalledWith(1);
  expect(lines.at(-1)).toContain('"waitingFor":"queue"');
});

test('[Q15] work that ignores the signal is left when the grace is over', async () => {
  const { host } = setUp(30);
  host.emit('SIGTERM', 'SIGTERM');
  await vi.waitUntil(() => host.exit.mock.calls.length > 0);
  expect(host.exit).toHaveBeenCalledWith(1);
});

test('Ctrl-C is a Ctrl-C also where the grace is over', async () => {
  const { host } = setUp(30);
  host.emit('SIGINT', 'SIGINT');
  await vi.waitUntil(() => host.exit.mock.calls.length > 0);
  expect(host.exit).toHaveBeenCalledWith(130);
});

test('when most of the grace is over, what holds up the stop is cut, and the stop goes on', async () => {
  const { host, shutdown, lines } = setUp(400);
  let breakOff = () => {};
  const silent = new Promise<void>((resolve) => {
    breakOff = resolve;
  });
  shutdown.add('database', () => undefined, breakOff);
  shutdown.add('feed', () => silent);
  await shutdown.close();
  expect(host.exit).not.toHaveBeenCalled();
  expect(lines).toEqual(['slow to stop; cutting connections {"waitingFor":"feed"}']);
});
