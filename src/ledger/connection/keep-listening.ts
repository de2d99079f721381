import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import { toError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { spaceCalls } from '../../kernel/spaced-calls.ts';

/** Part of pg's client that listens; `end` closes the connection. */
export type Listener = {
  query(statement: string | { text: string; query_timeout: number }): Promise<unknown>;
  on(event: 'notification', act: (message: { channel: string }) => void): unknown;
  once(event: 'end', act: () => void): unknown;
  end(): Promise<void>;
};

/** Interval of the queries that test the connection: a silent connection may be dead without an error. */
const pingEveryMs = 10_000;
/** The types of pg lack `query_timeout`, its upper bound in ms of the wait for an answer. */
const ping = { text: 'select 1', query_timeout: 5_000 };
const reconnectMs = 1_000;
const endMs = 1_000;
/** Milliseconds between two calls of a channel's function, so that a flood of notifications costs no more than that. */
const wakeEveryMs = 20;

/**
 * Listens on channels of the database until closed, on a connection of its own, and opens a new one whenever it is
 * lost. A channel's function is called after each notification, and after each connect, because notifications may have
 * been missed before. Any role that may connect can send notifications, so the payloads are ignored, and a channel's
 * function is called at most 50 times a second. `setUp` is a statement that each connection runs first.
 */
export function keepListening(options: {
  ledger: { patient(): Promise<Listener> };
  channels: Readonly<Record<string, () => void>>;
  setUp?: string;
  log: Log;
}): { close(): Promise<void> } {
  const { ledger, channels, setUp = 'select 1', log } = options;
  const names = Object.keys(channels);
  const wakes = new Map(
    Object.entries(channels).map(([name, wake]) => [name, spaceCalls(wake, wakeEveryMs)]),
  );
  const closing = new AbortController();
  const { signal } = closing;
  let isFailing = false;

  async function listen(): Promise<void> {
    const client = await ledger.patient();
    const lost = new AbortController();
    const stop = AbortSignal.any([signal, lost.signal]);
    client.once('end', () => lost.abort(new Error('the connection was lost')));
    client.on('notification', ({ channel }) => wakes.get(channel)?.call());
    try {
      await client.query(setUp);
      for (const name of names) await client.query(`listen ${name}`);
      if (isFailing) log.info({ channels: names }, 'notifications of the database arrive again');
      isFailing = false;
      for (const wake of wakes.values()) wake.call();
      for (;;) {
        await abortableSleep(pingEveryMs, stop);
        await client.query(ping);
      }
    } finally {
      // Does not wait for the end of a dead connection, which may never come.
      const ended = new AbortController();
      const end = client.end().finally(() => ended.abort());
      await Promise.race([end, abortableSleep(endMs, ended.signal)]).catch(() => undefined);
    }
  }

  async function keep(): Promise<void> {
    while (!signal.aborted) {
      await listen().catch((error) => {
        if (signal.aborted) return;
        const level = isFailing ? 'debug' : 'warn';
        log[level](
          { channels: names, error: toError(error) },
          'notifications of the database are cut off',
        );
        isFailing = true;
      });
      await abortableSleep(reconnectMs, signal).catch(() => undefined);
    }
  }

  const kept = keep();
  return {
    async close() {
      closing.abort();
      await kept;
      for (const wake of wakes.values()) wake.stop();
    },
  };
}
