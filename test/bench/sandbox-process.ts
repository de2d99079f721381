import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { TransactionWish } from '../../src/sandbox/history/invent-movement.ts';
import type { SandboxOptions } from '../../src/sandbox/sandbox-options.ts';
import type { SandboxStats } from '../../src/sandbox/sandbox-stats.ts';
import { stopChild } from '../support/embedded-server.ts';
import type { Bench } from './bench.ts';

/**
 * A request to the service: the time at which its head was read (Unix ms), its path without the query, and its API
 * key.
 */
export type Arrival = { atMs: number; path: string; key: string };

export type SandboxProcess = {
  /** The environment for wallet-ledger. */
  env: Record<string, string>;
  /** All requests since the last call, oldest first. */
  takeArrivals(): Promise<Arrival[]>;
  stats(): Promise<SandboxStats>;
  /** Makes one transaction and returns its order number. */
  addTransaction(wish?: TransactionWish): Promise<string>;
  addTransactions(count: number, wish?: TransactionWish): Promise<string[]>;
  setState(orderNo: string, state: string): Promise<void>;
  /** Changes the faults of a wallet (`Faults`). */
  setFaults(wallet: string, faults: object): Promise<void>;
  close(): Promise<void>;
};

/** Messages of the process: its address, once, and the arrivals whenever they are requested. */
export type SandboxAnswer =
  | { rootUrl: string; env: Record<string, string> }
  | { arrivals: Arrival[] };

const program = fileURLToPath(new URL('./serve-sandbox.ts', import.meta.url));

/** Starts a sandbox in its own process; stopped at the end of the bench at the latest. */
export async function startSandboxProcess(
  bench: Bench,
  options: Omit<Partial<SandboxOptions>, 'clock'>,
): Promise<SandboxProcess> {
  const child = fork(program, [JSON.stringify(options)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const close = () => stopChild(child, 'SIGKILL');
  bench.onEnd(close);
  const told = await nextAnswer(child);
  if (!('env' in told)) throw new Error('the sandbox process did not say where it is');
  const { rootUrl, env } = told;

  async function control<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(`${rootUrl}/control/${path}`, {
      method,
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return (await response.json()) as T;
  }

  async function addTransactions(count: number, wish: TransactionWish = {}): Promise<string[]> {
    const wanted = { count, ...wish };
    const added = await control<{ orderNos: string[] }>('POST', 'transactions', wanted);
    return added.orderNos;
  }

  return {
    env,
    async takeArrivals() {
      const answer = nextAnswer(child);
      child.send('arrivals');
      const got = await answer;
      return 'arrivals' in got ? got.arrivals : [];
    },
    stats: () => control('GET', 'stats'),
    addTransactions,
    async addTransaction(wish) {
      const [orderNo] = await addTransactions(1, wish);
      if (orderNo === undefined) throw new Error('the sandbox added nothing');
      return orderNo;
    },
    setState: (orderNo, state) => control('POST', 'state', { orderNo, state }),
    setFaults: (wallet, faults) => control('POST', `faults?wallet=${wallet}`, faults),
    close,
  };
}

async function nextAnswer(child: ChildProcess): Promise<SandboxAnswer> {
  const ended = new AbortController();
  const onExit = () => ended.abort(new Error('the sandbox process has ended'));
  child.once('exit', onExit);
  try {
    const [answer] = await once(child, 'message', { signal: ended.signal });
    return answer as SandboxAnswer;
  } finally {
    child.off('exit', onExit);
  }
}
