import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { stopChild } from '../support/embedded-server.ts';
import { freePort } from '../support/free-port.ts';

/** A Redis for the run that loses everything when it is killed. */
export type RedisServer = {
  port: number;
  flush(): Promise<void>;
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Returns the number of schedules of repeatable jobs in Redis. */
  schedules(): Promise<number>;
  close(): Promise<void>;
  /** For the last moment: stops it at once, without waiting. */
  killNow(): void;
};

const startMaxMs = 15_000;

/** Starts the program on a free port, which it keeps over its restarts. */
export async function startRedisServer(program: string, folder: string): Promise<RedisServer> {
  const port = await freePort();
  const client = new Redis({
    port,
    host: '127.0.0.1',
    lazyConnect: true,
    maxRetriesPerRequest: 1,
    retryStrategy: () => 50,
  });
  client.on('error', () => undefined);
  let child: ChildProcess | undefined;

  const start = async () => {
    if (child && child.exitCode === null && child.signalCode === null) return;
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''];
    child = spawn(program, args, { stdio: 'ignore' });
    const giveUpAt = performance.now() + startMaxMs;
    while (!(await client.ping().catch(() => false))) {
      if (performance.now() > giveUpAt) throw new Error('Redis does not start');
      await delay(50);
    }
  };
  const kill = async () => {
    if (child) await stopChild(child, 'SIGKILL');
  };
  await start();
  return {
    port,
    async flush() {
      await client.flushall();
    },
    kill,
    start,
    async schedules() {
      const keys = await client.keys('*:repeat');
      const sizes = await Promise.all(keys.map((key) => client.zcard(key)));
      return sizes.reduce((sum, size) => sum + size, 0);
    },
    async close() {
      client.disconnect();
      await kill();
    },
    killNow: () => child?.kill('SIGKILL'),
  };
}
