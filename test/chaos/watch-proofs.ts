import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Oracle } from './oracle/oracle-types.ts';

/** Checks repeatedly that a list that the ledger calls complete is one that the service has shown. */
export type ProofWatch = {
  /** Number of comparisons of a list that was called complete. */
  readonly compared: number;
  /** Proofs for which the service never showed such a list. */
  readonly falseProofs: string[];
  stop(): Promise<void>;
};

type Claim = { name: 'deposit' | 'withdraw'; since: number; orderNos: string[] };

const pollMs = 300;
/** A page is on its way, and is stored, before the proof that rests on it. */
const beforeMs = 20_000;
const shownMax = 5;
const timeText = (ms: number) => new Date(ms).toISOString();

export function watchProofs(database: pg.Pool, oracle: Oracle): ProofWatch {
  const falseProofs: string[] = [];
  const state = { isStopped: false, compared: 0 };

  const look = async () => {
    const { rows } = await database.query<Claim>(`
      select s.name,
             (select extract(epoch from max(p.observed_at)) * 1000 from ledger.stream_proofs p where p.name = s.name)::float8 as since,
             (select coalesce(json_agg(t.order_no), '[]') from ledger.transactions t
               where t.stream = s.name and t.is_listed) as "orderNos"
        from ledger.streams s where s.is_complete and s.name in ('deposit', 'withdraw')`);
    for (const { name, since, orderNos } of rows) {
      state.compared += 1;
      const miss = oracle.missShown(name, new Set(orderNos), since - beforeMs);
      if (!miss) continue;
      falseProofs.push(
        `${name}: ${orderNos.length} rows, complete since ${timeText(since)}; nearest at ${timeText(miss.at)}: missing ${miss.missing.slice(0, 5)}, extra ${miss.extra.slice(0, 5)}`,
      );
    }
  };
  const watching = (async () => {
    while (!state.isStopped && falseProofs.length < shownMax) {
      // The tables cannot be read while the database is away or before they exist.
      await look().catch(() => undefined);
      await delay(pollMs);
    }
  })();
  return {
    get compared() {
      return state.compared;
    },
    falseProofs,
    async stop() {
      state.isStopped = true;
      await watching;
    },
  };
}
