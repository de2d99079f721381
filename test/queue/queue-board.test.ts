import { appRoutes } from '@bull-board/api/dist/routes.js';
import { afterAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/clock.ts';
import { type RunningQueue, startQueue } from '../../src/queue/start-queue.ts';
import { recordLog } from '../support/record-log.ts';
import { freshPrefix, openTestBackend } from '../support/test-backends.ts';
import { type HttpHarness, openHttp } from '../support/with-http.ts';

const backends = {
  PostgreSQL: await openTestBackend.postgres(),
  Redis: await openTestBackend.redis(),
};
const opened: { close(deadlineMs: number): Promise<void> }[] = [];

afterAll(async () => {
  await Promise.all(opened.map((each) => each.close(3_000)));
  for (const backend of Object.values(backends)) await backend?.close();
});

const eventually = { timeout: 60_000, interval: 50 };

type Shown = {
  name: string;
  readOnlyMode: boolean;
  counts: Record<string, number>;
  jobs: { id: string; name: string; failedReason?: string }[];
};

describe.each(['PostgreSQL', 'Redis'] as const)('the board of a queue on %s', (kind) => {
  const backend = backends[kind];

  async function open(): Promise<HttpHarness & { queue: RunningQueue }> {
    if (!backend) throw new Error('skipped');
    const queue = await startQueue({
      backend: backend.address,
      prefix: freshPrefix(),
      jobs: [
        {
          name: 'failing',
          everyMs: 3_600_000,
          offsetMs: 0,
          run: () => Promise.reject(new Error('no luck')),
        },
      ],
      log: recordLog().log,
      clock: systemClock,
    });
    opened.push(queue);
    const http = await openHttp({ openBoard: queue.openBoard });
    opened.push(http);
    return { ...http, queue };
  }

  async function shownBy({ url }: HttpHarness, status = 'latest'): Promise<Shown> {
    const path = '/queues/api/queues';
    const { queues } = (await (await fetch(`${url}${path}`)).json()) as { queues: Shown[] };
    const name = encodeURIComponent(queues[0]?.name ?? '');
    const response = await fetch(`${url}${path}?activeQueue=${name}&status=${status}&page=1`);
    expect(response.status).toBe(200);
    const [shown] = ((await response.json()) as { queues: Shown[] }).queues;
    if (!shown) throw new Error('no queue is shown');
    return shown;
  }

  it.skipIf(!backend)('shows the jobs, and why they failed', async () => {
    const http = await open();
    await expect
      .poll(async () => (await shownBy(http, 'failed')).jobs, eventually)
      .toEqual([expect.objectContaining({ name: 'failing', failedReason: 'no luck' })]);
    expect((await shownBy(http)).readOnlyMode).toBe(true);
  });

  it.skipIf(!backend)('answers every question that its page can ask, none with 500', async () => {
    const http = await open();
    await expect.poll(async () => (await shownBy(http, 'failed')).jobs.length, eventually).toBe(1);
    const { name, jobs } = await shownBy(http, 'failed');
    const answers = routesOf('get').map(async (route) => {
      const path = fill(route, name, jobs[0]?.id ?? '');
      const response = await fetch(`${http.url}/queues${path}`);
      await response.text();
      return `${route} ${response.status}`;
    });
    const expected = routesOf('get').map((route) =>
      expect.stringMatching(new RegExp(`^${route} (200|204|${expectedOf[route] ?? 200})$`)),
    );
    expect(await Promise.all(answers)).toEqual(expected);
  });

  it.skipIf(!backend)('[S8 Q16] changes nothing, whatever it is sent', async () => {
    const http = await open();
    await expect.poll(async () => (await shownBy(http, 'failed')).jobs.length, eventually).toBe(1);
    const before = await shownBy(http, 'failed');
    const board = await http.queue.openBoard('/queues');
    for (const method of ['post', 'put', 'patch', 'delete'] as const) {
      for (const route of routesOf(method)) {
        const url = `${http.url}/queues${fill(route, before.name, before.jobs[0]?.id ?? '')}`;
        const request = () => new Request(url, { method: method.toUpperCase(), body: '{}' });
        expect([route, (await fetch(request())).status]).toEqual([route, 405]);
        expect([route, (await board(request())).status]).toEqual([route, 405]);
      }
    }
    const { counts, jobs } = await shownBy(http, 'failed');
    expect([counts, jobs]).toEqual([before.counts, before.jobs]);
  });

  it.skipIf(!backend)('loads its own files alone', async () => {
    const { url } = await open();
    const response = await fetch(`${url}/queues`);
    const page = await response.text();
    expect(response.status).toBe(200);
    expect(response.headers.get('Content-Security-Policy')).toContain("script-src 'self';");
    expect(page).not.toMatch(/(src|href)="https?:/);
    expect(page).toContain('<base href="/queues/"');
    const files = [...page.matchAll(/(?:src|href)="(static\/[^"]+)"/g)].map(([, file]) => file);
    expect(files.length).toBeGreaterThan(3);
    for (const file of files) {
      const { status, headers } = await fetch(`${url}/queues/${file}`);
      const isKept = headers.get('Cache-Control') !== 'no-store';
      expect([file, status, isKept]).toEqual([file, 200, /\.[0-9a-f]{8,}\./.test(file ?? '')]);
    }
    expect(files.filter((file) => /\.[0-9a-f]{8,}\.js$/.test(file ?? ''))).not.toEqual([]);
    for (const way of ['..%2f..%2fpackage.json', '%2e%2e/%2e%2e/package.json']) {
      const { status } = await fetch(`${url}/queues/static/${way}`);
      expect([way, status]).toEqual([way, 404]);
    }
  });

  it.skipIf(!backend)('says so when the queue does not answer', async () => {
    const { url, queue } = await open();
    expect((await fetch(`${url}/queues/api/queues`)).status).toBe(200);
    await queue.close(1_000);
    const response = await fetch(`${url}/queues/api/queues`);
    expect(response.status).toBe(503);
    expect(await response.text()).toMatch(/did not answer|does not answer/);
  });
});

it('is not there before the queue is', async () => {
  const http = await openHttp();
  opened.push(http);
  const response = await fetch(`${http.url}/queues`);
  expect([response.status, await response.text()]).toEqual([503, 'the queue is not open yet\n']);
});

/** Status of each route that the board refuses because it shows details of the server. */
const expectedOf: Record<string, number> = { '/api/redis/stats': 403 };

function routesOf(method: string): string[] {
  return appRoutes.api
    .filter((one) => [one.method].flat().includes(method as never))
    .flatMap(({ route }) => route);
}

function fill(route: string, queueName: string, jobId: string): string {
  return route
    .replace(':queueName', encodeURIComponent(queueName))
    .replace(':jobId', encodeURIComponent(jobId))
    .replace(':queueStatus', 'failed')
    .replace(':schedulerId', 'failing');
}
