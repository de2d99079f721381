import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { askForServer } from './ask-for-server.ts';
import { stopChild } from './embedded-server.ts';
import { freePort } from './free-port.ts';
import { redisProgram } from './redis-program.ts';

const startMs = 30_000;

export type TestRedis = {
  url: string;
  /** True if the server belongs to this caller alone: only then may it be flushed. */
  isPrivate: boolean;
  close(): Promise<void>;
};

/** The Redis of TEST_REDIS_URL or REDIS_URL, otherwise a new one for the caller, otherwise undefined. */
export async function startRedis(): Promise<TestRedis | undefined> {
  const given = process.env['TEST_REDIS_URL'] || process.env['REDIS_URL'];
  if (given) return { url: given, isPrivate: false, close: async () => undefined };
  const container = await askForServer('redis');
  if (container) return { url: container, isPrivate: true, close: async () => undefined };
  const program = redisProgram();
  return program ? startRedisProgram(program) : undefined;
}

/** Starts the program on a free port, with nothing written to disk. */
export async function startRedisProgram(program: string): Promise<TestRedis> {
  const home = await mkdtemp(join(tmpdir(), 'wallet-ledger-redis-'));
  const port = await freePort();
  const server = spawn(
    program,
    ['--port', String(port), '--bind', '127.0.0.1', '--dir', home, '--save', ''],
    { stdio: 'ignore' },
  );
  const url = `redis://127.0.0.1:${port}`;
  const close = async () => {
    await stopChild(server, 'SIGKILL');
    await rm(home, { recursive: true, force: true });
  };
  const probe = new Redis(url, { lazyConnect: true, retryStrategy: () => 20 });
  probe.on('error', () => undefined);
  const timer = setTimeout(() => probe.disconnect(), startMs);
  try {
    // Fails at the first refusal, while the connection continues trying: the ping waits for that.
    await probe.connect().catch(() => undefined);
    await probe.ping();
    return { url, isPrivate: true, close };
  } catch (error) {
    await close();
    throw error;
  } finally {
    clearTimeout(timer);
    probe.disconnect();
  }
}
