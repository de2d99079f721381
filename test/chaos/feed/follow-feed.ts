import type pg from 'pg';
import type { Exit } from '../fleet.ts';
import { type Invariant, invariant } from '../report.ts';
import { startConsumer } from './consumer.ts';
import { judgeFeed, untilTold } from './judge-feed.ts';
import { startReceivers } from './receivers.ts';

/** The consumers and receivers that follow the change feed during the faults. */
export type FollowedFeed = {
  /** Settings of the daemons, and the secret ones among them. */
  readonly env: Record<string, string>;
  readonly secrets: Record<string, string>;
  /** Starts the consumer in the database, on connections that the faults affect. */
  start(consumers: pg.Pool): void;
  /** Receivers no longer fail. */
  heal(): void;
  /** Waits until every event has reached all of them, with running daemons, and checks the events. */
  judge(database: pg.Pool, run: (args: string[]) => Promise<Exit>): Promise<Invariant[]>;
  close(): Promise<void>;
};

export async function followFeed(seed: number): Promise<FollowedFeed> {
  const receivers = await startReceivers(seed);
  const { all, env } = receivers;
  let consumer: ReturnType<typeof startConsumer> | null = null;
  return {
    env,
    secrets: Object.fromEntries(Object.entries(env).filter(([name]) => name.endsWith('_SECRET'))),
    start(consumers) {
      consumer = startConsumer(consumers);
    },
    heal: receivers.heal,
    async judge(database, run) {
      const resumed = await run(['feed', 'resume', 'gone']);
      const head = await untilTold(database, all);
      await consumer?.stop();
      const repeated = consumer?.repeated ?? [];
      return [
        invariant(
          'feed.resumed',
          'A receiver that the program has stopped is resumed by a command',
          resumed.code === 0 ? [] : [resumed.lastWords],
        ),
        ...(await judgeFeed(database, all, { head, repeated })),
      ];
    },
    async close() {
      await consumer?.stop();
      await receivers.close();
    },
  };
}
