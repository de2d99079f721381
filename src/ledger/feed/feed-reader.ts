import type { Ledger } from '../connection/connect-ledger.ts';
import { number, orNull, out, query } from '../connection/query-rows.ts';
import { events } from '../schema/events.ts';
import { type FeedEvent, readEvents } from './event-store.ts';

/** `ahead`: the feed ends before the position. `deleted`: the events after the position are no longer kept. */
export type FeedPage =
  | { kind: 'events'; events: FeedEvent[] }
  | { kind: 'ahead'; head: number }
  | { kind: 'deleted'; oldest: number };

export type FeedReader = {
  /**
   * Returns the events after the position, oldest first, at most `max`. Equal calls at once share one reading, unless
   * a `wake` came after it began.
   */
  read(after: number, max: number): Promise<FeedPage>;
  /** Returns the number of the latest event, 0 if there is none. */
  head(): Promise<number>;
  /** Resolves with the next `wake`. Ask before reading: an event may come between a reading and the wait. */
  nextWake(): Promise<void>;
  /** Called when there may be further events. */
  wake(): void;
};

/** Reads the change feed for any number of clients. */
export function createFeedReader({ db }: Pick<Ledger, 'db'>): FeedReader {
  const running = new Map<string, Promise<FeedPage>>();
  let resolve = (): void => undefined;
  let next = renew();

  function renew(): Promise<void> {
    return new Promise((onWake) => {
      resolve = onWake;
    });
  }

  async function readBounds(): Promise<{ oldest: number | null; head: number }> {
    const [bounds] = await query(db)`
      select min(${events.seq}) as ${out('oldest', orNull(number))}, ledger.events_head() as ${out('head', number)}
        from ${events}`;
    return bounds ?? { oldest: null, head: 0 };
  }

  async function readPage(after: number, max: number): Promise<FeedPage> {
    const page = await readEvents(db, after, max);
    if (page[0]?.seq === after + 1) return { kind: 'events', events: page };
    const { oldest, head } = await readBounds();
    if (after > head) return { kind: 'ahead', head };
    if (oldest !== null && oldest > after + 1) return { kind: 'deleted', oldest };
    return { kind: 'events', events: page };
  }

  function forget(key: string, ended: Promise<FeedPage>): void {
    if (running.get(key) === ended) running.delete(key);
  }

  return {
    read(after, max) {
      const key = `${after} ${max}`;
      const shared: Promise<FeedPage> =
        running.get(key) ?? readPage(after, max).finally(() => forget(key, shared));
      running.set(key, shared);
      return shared;
    },
    head: async () => (await readBounds()).head,
    nextWake: () => next,
    wake() {
      const wakeAll = resolve;
      next = renew();
      // A reading that has begun before may lack the new events.
      running.clear();
      wakeAll();
    },
  };
}
