import { setTimeout as delay } from 'node:timers/promises';
import { PostgreSqlContainer } from '@testcontainers/postgresql';
import { RedisContainer } from '@testcontainers/redis';
import { getContainerRuntimeClient, ImageName, type StartedTestContainer } from 'testcontainers';
import { postgresImage, redisImage } from './container-images.ts';

const engineMs = 5_000;
const pullMs = 60_000;
const startMs = 20_000;

/** A temporary server of the tests. */
export type TestServer = { url: string; close(): Promise<void> };

/**
 * Returns true if a Docker engine answers and has the image, or pulls it in time. Prints the reason if an engine cannot
 * get the image.
 */
export async function hasImage(image: string): Promise<boolean> {
  const engine = await within(engineMs, getContainerRuntimeClient()).catch(() => null);
  if (!engine) return false;
  const name = ImageName.fromString(image);
  return orSayWhyNot(image, async () => {
    if (await within(engineMs, engine.image.exists(name))) return true;
    process.stdout.write(`Docker pulls ${image}, for ${pullMs / 1000} s at the most\n`);
    await within(pullMs, engine.image.pull(name));
    if (await within(engineMs, engine.image.exists(name))) return true;
    throw new Error('the pull brought nothing');
  }).then(Boolean);
}

/** Loses everything in a crash, like the embedded one. Null, with a printed reason, if it does not start. */
export async function startPostgresContainer(): Promise<TestServer | null> {
  const settings = [
    'fsync=off',
    'synchronous_commit=off',
    'full_page_writes=off',
    'max_connections=200',
  ].flatMap((setting) => ['-c', setting]);
  const container = await start(
    postgresImage,
    new PostgreSqlContainer(postgresImage).withCommand(['postgres', ...settings]),
  );
  return container && { url: container.getConnectionUri(), close: () => stop(container) };
}

/** Stores nothing. Null, with a printed reason, if it does not start. */
export async function startRedisContainer(): Promise<TestServer | null> {
  const container = await start(
    redisImage,
    new RedisContainer(redisImage).withCommand([
      'redis-server',
      ...['--bind', '0.0.0.0', '--protected-mode', 'no', '--save', ''],
    ]),
  );
  return container && { url: container.getConnectionUrl(), close: () => stop(container) };
}

async function start<Started extends StartedTestContainer>(
  image: string,
  container: { start(): Promise<Started> },
): Promise<Started | null> {
  return orSayWhyNot(image, () => {
    const started = container.start();
    return within(startMs, started).catch((error) => {
      started.then(stop).catch(() => undefined);
      throw error;
    });
  });
}

async function stop(container: StartedTestContainer): Promise<void> {
  await container.stop();
}

async function orSayWhyNot<T>(image: string, work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    process.stdout.write(`No container of ${image} (${error}): the tests use what else there is\n`);
    return null;
  }
}

async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  const settled = new AbortController();
  const timeout = delay(limitMs, undefined, { signal: settled.signal }).then(() => {
    throw new Error(`took longer than ${limitMs / 1000} s`);
  });
  return Promise.race([work, timeout]).finally(() => settled.abort());
}
