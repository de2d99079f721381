import { Redis } from 'ioredis';
import { LedgerError, toError } from '../kernel/errors.ts';
import { withDeadline } from './deadline.ts';
import { safeErrorMessage } from './safe-error-message.ts';

/** Facts that a Redis or Valkey server reports; null if it does not report them. */
export type RedisFacts = {
  version: string | null;
  evictionPolicy: string | null;
  isAppendOnly: boolean;
  /** Presence of automatic snapshots; null if the server forbids CONFIG. */
  hasSnapshots: boolean | null;
};

const answerMs = 5_000;

/** Reads the facts from the server. Throws queue-unreachable. */
export async function readRedisFacts(url: string): Promise<RedisFacts> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: answerMs,
    commandTimeout: answerMs,
    maxRetriesPerRequest: 1,
    retryStrategy: () => null,
    replyMapping: 'legacy',
  });
  let fault: Error | undefined;
  redis.on('error', (error) => {
    fault = error;
  });
  try {
    return await withDeadline(ask(redis), 2 * answerMs, 'no answer');
  } catch (thrown) {
    throw unreachable(redis, fault ?? toError(thrown));
  } finally {
    redis.disconnect();
  }
}

function unreachable({ options }: Redis, cause: Error): LedgerError {
  const message = `Redis at ${options.host}:${options.port} does not answer: ${safeErrorMessage(cause)}`;
  return new LedgerError('queue-unreachable', message, { cause });
}

async function ask(redis: Redis): Promise<RedisFacts> {
  await redis.connect();
  const info = await redis.info();
  // Managed servers often forbid CONFIG.
  const save = await redis.config('GET', 'save').catch(() => null);
  const schedule = Array.isArray(save) ? save[1] : undefined;
  return {
    version: fieldOf(info, 'redis_version'),
    evictionPolicy: fieldOf(info, 'maxmemory_policy'),
    isAppendOnly: fieldOf(info, 'aof_enabled') === '1',
    hasSnapshots: typeof schedule === 'string' ? schedule !== '' : null,
  };
}

/** Says why a server with this answer to INFO refuses to store anything; null if it does not. */
export function refusalIn(info: string): string | null {
  const bytesOf = (name: string) => Number(fieldOf(info, name) ?? 0);
  const used = bytesOf('used_memory') - bytesOf('mem_not_counted_for_evict');
  const most = bytesOf('maxmemory');
  if (most > 0 && used > most)
    return `Redis is full: it uses ${used} bytes, and its maxmemory is ${most}`;
  return fieldOf(info, 'role') === 'slave'
    ? 'this Redis is a replica, which takes no writes'
    : null;
}

function fieldOf(info: string, name: string): string | null {
  return new RegExp(`^${name}:(.+?)\\r?$`, 'm').exec(info)?.[1] ?? null;
}
