import { type RedisFacts, readRedisFacts } from '../queue/read-redis-facts.ts';
import { badFinding, type Finding, okFinding, warningFinding } from './finding.ts';

const oldest = [6, 2] as const;

/** Checks version, eviction and persistence of the queue's Redis. */
export async function checkRedis(url: string): Promise<Finding[]> {
  const facts = await readRedisFacts(url);
  return [checkVersion(facts), checkEviction(facts), checkPersistence(facts)];
}

function checkVersion({ version }: RedisFacts): Finding {
  const name = 'redis-version';
  const [major = 0, minor = 0] = (version ?? '').split('.').map(Number);
  const isRecent = major > oldest[0] || (major === oldest[0] && minor >= oldest[1]);
  const seen = `version ${version ?? 'unknown'}`;
  return isRecent
    ? okFinding(name, seen)
    : badFinding(name, seen, 'upgrade to Redis 6.2 or Valkey, or later');
}

function checkEviction({ evictionPolicy }: RedisFacts): Finding {
  const name = 'redis-eviction';
  const seen = `maxmemory-policy is ${evictionPolicy ?? 'unknown'}`;
  if (evictionPolicy === 'noeviction') return okFinding(name, seen);
  return warningFinding(
    name,
    seen,
    'set maxmemory-policy noeviction: otherwise Redis deletes jobs when its memory is full',
  );
}

function checkPersistence({ isAppendOnly, hasSnapshots }: RedisFacts): Finding {
  const name = 'redis-persistence';
  if (isAppendOnly) return okFinding(name, 'appendonly is on');
  const cure =
    'set appendonly yes: otherwise a restart loses waiting jobs until the schedules are set again';
  if (hasSnapshots) return okFinding(name, 'snapshots are saved');
  return warningFinding(
    name,
    hasSnapshots === null ? 'appendonly is off' : 'neither appendonly nor save is set',
    cure,
  );
}
