import { describe, expect, it } from 'vitest';
import { type Lane, lanes } from '../../src/kernel/ticket.ts';
import { createSemaphore } from '../../src/service/transport/semaphore.ts';
import { makeClient } from '../support/make-client.ts';
import { pageOf, startScriptedService, succeed } from '../support/scripted-service.ts';

/** Tasks that wait for the semaphore or hold a slot until they end. */
function crowd(count: number) {
  const slots = createSemaphore(count);
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    started,
    enter(lane: Lane, name: string): void {
      const work = () =>
        new Promise<void>((resolve) => {
          started.push(name);
          ends.set(name, resolve);
        });
      void slots.run(lane, work);
    },
    async end(name: string): Promise<void> {
      ends.get(name)?.();
      await new Promise(setImmediate);
    },
  };
}

describe('request slots', () => {
  it('go to the highest waiting lane, and within a lane in order of arrival', async () => {
    const { started, enter, end } = crowd(1);
    enter('backlog', 'holder');
    for (const lane of [...lanes].reverse()) {
      enter(lane, `${lane} 1`);
      enter(lane, `${lane} 2`);
    }
    await new Promise(setImmediate);
    for (let turn = 0; turn < 4; turn += 1) await end(started.at(-1) ?? '');
    expect(started).toEqual(['holder', 'head 1', 'head 2', 'pools 1', expect.any(String)]);
  });

  it('go to each lane after three slots of higher ones', async () => {
    const { started, enter, end } = crowd(1);
    enter('head', 'holder');
    enter('backlog', 'backlog');
    for (let n = 1; n <= 9; n += 1) enter('head', `head ${n}`);
    await new Promise(setImmediate);
    for (let turn = 0; turn < 5; turn += 1) await end(started.at(-1) ?? '');
    expect(started).toEqual(['holder', 'head 1', 'head 2', 'head 3', 'backlog', 'head 4']);
  });

  it('are never all used by lower lanes if there are four or more', async () => {
    const { started, enter, end } = crowd(4);
    for (let n = 1; n <= 5; n += 1) enter('backlog', `backlog ${n}`);
    await new Promise(setImmediate);
    expect(started).toEqual(['backlog 1', 'backlog 2', 'backlog 3']);
    enter('head', 'head');
    await new Promise(setImmediate);
    expect(started.at(-1)).toBe('head');
    await end('head');
    expect(started).toHaveLength(4);
    await end('backlog 1');
    expect(started.at(-1)).toBe('backlog 4');
  });
});

it('a request whose lane has to wait gives its slot to a higher lane meanwhile', async () => {
  const service = await startScriptedService();
  try {
    service.answer(succeed(pageOf([])));
    const taken: Lane[] = [];
    let deferrals = 1;
    const { client } = await makeClient(service.baseUrl, {
      concurrency: 1,
      tickets: {
        async take(lane) {
          if (lane === 'backlog' && deferrals > 0) {
            deferrals -= 1;
            return { backInMs: 30 };
          }
          taken.push(lane);
          return { observation: taken.length, nonce: String(taken.length) };
        },
        pause: async () => undefined,
      },
    });
    const page = { type: 'deposit', pageNo: 1, pageSize: 10 } as const;
    await Promise.all([
      client.listTransactions({ ...page, lane: 'backlog' }),
      client.listTransactions(page),
    ]);
    expect(taken).toEqual(['head', 'backlog']);
  } finally {
    await service.close();
  }
});
