import { readFileSync } from 'node:fs';
import type { Bench } from './bench.ts';
import { startProduct } from './run-product.ts';

export type RunningDaemon = {
  /** Address of its status pages, without a path. */
  url: string;
  pid: number;
  /** Seconds of processor time since its start, in user and kernel mode (Linux). */
  cpuSeconds(): number;
  /** Stops it with SIGTERM; throws its output if it does not exit with 0. */
  stop(): Promise<void>;
};

/** Clock ticks per second in /proc: 100 on every Linux that Node runs on. */
const ticksPerSecond = 100;
const startMs = 30_000;

/** Settings of a daemon that only reads details. */
export const onlyDetails = {
  SYNC_TRANSACTIONS_EVERY: 'off',
  SYNC_DETAILS_EVERY: '1s',
  SYNC_BALANCES_EVERY: 'off',
  SYNC_COINS_EVERY: 'off',
  SYNC_ADDRESSES_EVERY: 'off',
  FILL_POOLS_EVERY: 'off',
  AUDIT_EVERY: 'off',
};

/**
 * Starts `wallet-ledger start` and waits until its status pages listen; stopped at the end of the bench at the latest.
 */
export async function startDaemon(
  bench: Pick<Bench, 'onEnd'>,
  env: Record<string, string>,
): Promise<RunningDaemon> {
  const { process: child, ended } = await startProduct(['start'], {
    HTTP_PORT: '0',
    LOG_FORMAT: 'json',
    ...env,
  });
  let isStopping = false;
  const stop = async () => {
    if (isStopping) return;
    isStopping = true;
    child.kill('SIGTERM');
    const { code, stderr, stdout } = await ended;
    if (code !== 0) throw new Error(`the daemon ended with ${code}:\n${stdout}${stderr}`);
  };
  bench.onEnd(stop);
  const port = await new Promise<number>((found, fail) => {
    const timer = setTimeout(() => fail(new Error('the daemon does not listen')), startMs);
    let text = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: string) => {
        text += chunk;
        const match = /"port":(\d+),[^\n]*"msg":"listening"/.exec(text);
        if (match) {
          clearTimeout(timer);
          found(Number(match[1]));
        }
      });
    }
    void ended.then(({ stderr }) => fail(new Error(`the daemon ended at once:\n${stderr}`)));
  });
  return {
    url: `http://127.0.0.1:${port}`,
    pid: Number(child.pid),
    cpuSeconds: () => readCpuSeconds(child.pid),
    stop,
  };
}

function readCpuSeconds(pid: number | undefined): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The second field is the program's name in brackets, and may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}
