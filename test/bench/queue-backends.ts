import { redisProgram } from '../support/redis-program.ts';
import { startRedisProgram } from '../support/start-redis.ts';
import type { Bench } from './bench.ts';

/** Places for the queue on this machine, with their settings. */
export type BenchedQueue = { name: 'PostgreSQL' | 'Redis'; env: Record<string, string> };

/** PostgreSQL; in a full run also a Redis of the bench's own, where there is a program for it. */
export async function startQueueBackends(bench: Bench): Promise<BenchedQueue[]> {
  const queues: BenchedQueue[] = [{ name: 'PostgreSQL', env: {} }];
  if (bench.isQuick) return queues;
  const program = redisProgram();
  if (program) {
    const redis = await startRedisProgram(program);
    bench.onEnd(() => redis.close());
    queues.push({ name: 'Redis', env: { REDIS_URL: redis.url } });
  } else bench.say('no redis-server program: only the queue in PostgreSQL is measured');
  return queues;
}
