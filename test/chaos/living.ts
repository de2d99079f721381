import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { seededRandom } from '../support/seeded-random.ts';
import type { Oracle } from './oracle/oracle-types.ts';

/** Activity during the faults: changes at the service, and consumers of addresses. */
export type Living = {
  readonly done: {
    arrivals: number;
    steps: number;
    amendments: number;
    balanceMoves: number;
    taken: number;
    poolEmpty: number;
  };
  /** Addresses that were handed out for two references. */
  readonly wrongAddresses: string[];
  /** References that got another address than before. */
  readonly changedAddresses: string[];
  /** Every address that was handed out to a consumer. */
  taken(): { slip44: number; reference: string; address: string }[];
  stop(): Promise<void>;
};

const retryPauseMs = 150;

/** `consumers`: a connection pool that the faults affect, like that of a real consumer. */
export function startLiving(options: {
  oracle: Oracle;
  consumers: pg.Pool;
  slip44s: number[];
  seed: number;
  /** Number of consumers, and the pause of each after an address. */
  pace: { count: number; pauseMs: number };
  /** Pause between two steps of the service's life. */
  lifePauseMs: number;
}): Living {
  const { oracle, consumers, slip44s } = options;
  const random = seededRandom(options.seed).next;
  const done = { arrivals: 0, steps: 0, amendments: 0, balanceMoves: 0, taken: 0, poolEmpty: 0 };
  const wrongAddresses: string[] = [];
  const changedAddresses: string[] = [];
  const ownerOf = new Map<string, string>();
  const addressOf = new Map<string, string>();
  const owners: string[] = [];
  const state: { isStopped: boolean } = { isStopped: false };

  async function live(): Promise<void> {
    while (!state.isStopped) {
      if (random() < 0.6) done.arrivals += oracle.arrive(1 + Math.floor(random() * 3)).length;
      if (random() < 0.6) done.steps += oracle.advance(1 + Math.floor(random() * 6));
      if (random() < 0.05) done.amendments += oracle.amend(1);
      if (random() < 0.15) done.balanceMoves += oracle.moveBalances(1);
      await delay(options.lifePauseMs);
    }
  }

  async function consume(name: string): Promise<void> {
    for (let count = 1; !state.isStopped; count += 1) {
      const old = random() < 0.1 ? owners[Math.floor(random() * owners.length)] : undefined;
      const chain = slip44s[Math.floor(random() * slip44s.length)] ?? 0;
      const owner = old ?? `${chain}/${name}-${count}`;
      note(owner, await take(owner));
      await delay(options.pace.pauseMs);
    }
  }

  /** The same reference again until an answer arrives: a lost answer must cost no address. */
  async function take(owner: string): Promise<string | null> {
    const [chain, reference] = owner.split('/');
    while (!state.isStopped) {
      try {
        const { rows } = await consumers.query<{ address: string | null }>(
          'select ledger.take_address($1, $2) as address',
          [Number(chain), reference],
        );
        return rows[0]?.address ?? null;
      } catch {
        await delay(retryPauseMs);
      }
    }
    return null;
  }

  function note(owner: string, address: string | null): void {
    if (address === null) {
      done.poolEmpty += 1;
      return;
    }
    const key = `${owner.split('/')[0]}/${address}`;
    const [otherOwner, otherAddress] = [ownerOf.get(key), addressOf.get(owner)];
    if (otherOwner !== undefined && otherOwner !== owner)
      wrongAddresses.push(`${key} for ${owner} and for ${otherOwner}`);
    if (otherAddress !== undefined && otherAddress !== address)
      changedAddresses.push(`${owner} got ${otherAddress}, then ${address}`);
    if (otherAddress === undefined) {
      done.taken += 1;
      owners.push(owner);
    }
    ownerOf.set(key, owner);
    addressOf.set(owner, address);
  }

  const names = Array.from({ length: options.pace.count }, (_, index) => `consumer-${index}`);
  const parts = Promise.all([live(), ...names.map(consume)]);
  return {
    done,
    wrongAddresses,
    changedAddresses,
    taken: () =>
      [...addressOf].map(([owner, address]) => {
        const [slip44, reference = ''] = owner.split('/');
        return { slip44: Number(slip44), reference, address };
      }),
    async stop() {
      state.isStopped = true;
      await parts;
    },
  };
}
