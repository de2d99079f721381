import { fork } from 'node:child_process';
import { once } from 'node:events';

export type StaticService = {
  baseUrl: string;
  /** The environment for the program, without a database and without a limit of requests. */
  env: Record<string, string>;
  close(): Promise<void>;
};

/**
 * Starts a minimal wallet service in its own process: `rows` transactions, newest first, from texts made at the start,
 * and no signature check. The cost of a run is then that of the program.
 */
export async function startStaticService(rows: number): Promise<StaticService> {
  const child = fork(new URL('./serve-static.ts', import.meta.url), [String(rows)]);
  const [port] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error('the static service did not start'))),
  ]);
  const baseUrl = `http://127.0.0.1:${port}/api`;
  return {
    baseUrl,
    env: {
      WALLET_BASE_URL: baseUrl,
      WALLET_API_SECRET: '1'.repeat(64),
      WALLET_MAX_RPS: 'off',
      WALLET_CONCURRENCY: '8',
      LOG_LEVEL: 'warn',
    },
    async close() {
      if (!child.connected) return;
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}
