import { expect, onTestFinished, test } from 'vitest';
import { checkRedis } from '../../src/doctor/check-redis.ts';
import { guardedFindings } from '../../src/doctor/finding.ts';
import { startRedis } from '../support/start-redis.ts';

test('Redis is judged by version, eviction and persistence', async ({ skip }) => {
  const redis = await startRedis();
  if (!redis) return skip('there is no Redis');
  onTestFinished(() => redis.close());
  const findings = await checkRedis(redis.url);
  expect(findings.map(({ name }) => name)).toEqual([
    'redis-version',
    'redis-eviction',
    'redis-persistence',
  ]);
  expect(findings[0]?.verdict).toBe('good');
});

test('a Redis that is away is named', async () => {
  const [finding] = await guardedFindings('redis', () =>
    checkRedis('redis://:hush-hush@127.0.0.1:9'),
  );
  expect(finding).toMatchObject({ name: 'redis', verdict: 'bad' });
  expect(finding?.seen).toContain('127.0.0.1:9');
  expect(JSON.stringify(finding)).not.toContain('hush-hush');
});
