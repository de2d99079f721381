import { expect, test } from 'vitest';
import { refusalIn } from '../../src/queue/read-redis-facts.ts';

const info = (fields: Record<string, string | number>) =>
  Object.entries(fields)
    .map(([name, value]) => `${name}:${value}\r\n`)
    .join('');

test('a Redis that is full, or a replica, says so before a run is lost', () => {
  const full = info({ used_memory: 3_000, maxmemory: 2_000, role: 'master' });
  expect(refusalIn(full)).toBe('Redis is full: it uses 3000 bytes, and its maxmemory is 2000');
  expect(refusalIn(info({ used_memory: 10, maxmemory: 0, role: 'slave' }))).toContain('a replica');
});

test('what does not count against the limit, no limit, and no answer are no refusal', () => {
  for (const text of [
    info({ used_memory: 3_000, maxmemory: 0, role: 'master' }),
    info({ used_memory: 2_000, maxmemory: 2_000, role: 'master' }),
    info({ used_memory: 3_000, mem_not_counted_for_evict: 1_000, maxmemory: 2_000 }),
    '',
  ])
    expect(refusalIn(text)).toBeNull();
});
