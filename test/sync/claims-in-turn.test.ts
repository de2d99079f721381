import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { LedgerError } from '../../src/kernel/errors.ts';
import type { Lane } from '../../src/kernel/ticket.ts';
import type { ClaimedDetail } from '../../src/ledger/transactions/detail-checks.ts';
import type { DetailTools } from '../../src/sync/details/detail-port.ts';
import { syncDetailsThrough } from '../../src/sync/details/sync-details.ts';
import { quietLog } from '../simulator/quiet-log.ts';

const signal = new AbortController().signal;

function openGate(): { opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}
const concurrency = 4;

const rowsOf = (claim: string, count: number, lane: Lane): ClaimedDetail[] =>
  Array.from({ length: count }, (_, index) => ({
    orderNo: `${claim}-${index}`,
    lane,
    isRefused: false,
  }));

/**
 * A context that hands out these claims one after the other. It calls `ask` with each order, `store` with each batch.
 */
function toolsFor(
  claims: ClaimedDetail[][],
  {
    ask,
    store,
  }: { ask(orderNo: string, isAskedOnce?: boolean): Promise<void>; store(): Promise<void> },
): DetailTools {
  const waiting = claims.values();
  return {
    log: quietLog,
    settings: { concurrency },
    client: {
      async getTransaction(orderNo, _signal, query) {
        await nextTurn();
        await ask(orderNo, query?.isAskedOnce);
        return { observation: 1, records: [], rejects: [] };
      },
    },
    details: {
      countIncomplete: async () => ({ incomplete: 1, finalIncomplete: 0 }),
      claim: async () => waiting.next().value ?? [],
      answeredBefore: async () => null,
      unclaimed: async () => [],
      extend: async () => {},
      release: async () => {},
      store: async () => {
        await store();
        return 0;
      },
    },
  };
}

test('the next claim of the history is fetched while the previous one is stored, but not stored concurrently', async () => {
  const asked: string[] = [];
  const askedAtStore: string[][] = [];
  const all = openGate();
  const tools = toolsFor([rowsOf('first', 20, 'backlog'), rowsOf('second', 20, 'backlog')], {
    ask: async (orderNo) => {
      if (asked.push(orderNo) === 40) all.open();
    },
    // Ends only once the rows of both have been requested.
    store: async () => {
      askedAtStore.push([...asked]);
      await all.opened;
    },
  });
  await syncDetailsThrough(tools, signal);
  expect(asked).toHaveLength(40);
  const early = askedAtStore[0]?.filter((orderNo) => orderNo.startsWith('second')) ?? [];
  expect(early.length).toBeLessThanOrEqual(concurrency);
});

test('a current row does not wait for the previous claim of the history', async () => {
  const current = openGate();
  const tools = toolsFor([rowsOf('first', 20, 'backlog'), rowsOf('second', 1, 'current')], {
    ask: async (orderNo) => {
      if (orderNo === 'second-0') current.open();
      await current.opened;
    },
    store: async () => {},
  });
  await syncDetailsThrough(tools, signal);
});

test('the next claim continues after one that failed', async () => {
  const asked: string[] = [];
  const tools = toolsFor([rowsOf('first', 20, 'backlog'), rowsOf('second', 20, 'backlog')], {
    ask: async (orderNo) => {
      asked.push(orderNo);
      if (orderNo.startsWith('first')) throw new Error('broken');
    },
    store: async () => {},
  });
  await expect(syncDetailsThrough(tools, signal)).rejects.toThrow('broken');
  expect(asked.filter((orderNo) => orderNo.startsWith('second'))).toHaveLength(20);
});

test('after several refused rows in a row, each further row is requested once, until the service answers one', async () => {
  const once: string[] = [];
  const tools = toolsFor([rowsOf('first', 20, 'backlog'), rowsOf('second', 20, 'backlog')], {
    ask: async (orderNo, isAskedOnce) => {
      if (isAskedOnce) once.push(orderNo);
      if (orderNo !== 'first-12') throw new LedgerError('service-refused', 'no such order');
    },
    store: async () => {},
  });
  await syncDetailsThrough({ ...tools, settings: { concurrency: 1 } }, signal);
  const ofFirst = [...Array(20).keys()].filter((nth) => (nth > 4 && nth < 13) || nth > 17);
  expect(once.filter((orderNo) => orderNo.startsWith('first'))).toEqual(
    ofFirst.map((nth) => `first-${nth}`),
  );
  expect(once.filter((orderNo) => orderNo.startsWith('second'))).toHaveLength(20);
});
