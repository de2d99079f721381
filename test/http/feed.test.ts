import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import type { SQL } from 'drizzle-orm';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { HttpOptions } from '../../src/http/start-http.ts';
import { createFeedReader } from '../../src/ledger/feed/feed-reader.ts';
import { until } from '../support/until.ts';
import { type HttpHarness, openHttp } from '../support/with-http.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query } = await withLedger();
const feedToken = 'feed-0123456789ab';
const authorized = { headers: { Authorization: `Bearer ${feedToken}` } };

beforeEach(() => query('truncate ledger.events'));

/** Inserts events with these numbers, each with `size` bytes of data. */
const insert = (from: number, to = from, size = 1) =>
  query(`insert into ledger.events select n, now(), 'balance.changed', 'k', jsonb_build_object('text', repeat('x', ${size}))
           from generate_series(${from}, ${to}) as n`);

type Harness = HttpHarness & { wake(): void };

async function open(options: Partial<HttpOptions> = {}): Promise<Harness> {
  const feed = createFeedReader(ledger);
  const http = await openHttp({ feedToken, feed, ...options });
  onTestFinished(() => http.close());
  return { ...http, wake: feed.wake };
}

const seqsOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line).seq);

async function poll({ url }: Harness, search: string): Promise<number[]> {
  const answer = await fetch(`${url}/feed?${search}`, authorized);
  expect(answer.status).toBe(200);
  return seqsOf(await answer.text());
}

/** Numbers of the events that a stream has brought so far. */
function follow(
  { url }: Harness,
  search = '',
  headers = {},
): { ids: number[]; ended: Promise<string> } {
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const ids: number[] = [];
  const read = async () => {
    const answer = await fetch(`${url}/feed/stream${search}`, {
      headers: { ...authorized.headers, ...headers },
      signal: leaving.signal,
    });
    let text = '';
    for await (const part of answer.body ?? []) {
      text += new TextDecoder().decode(part);
      ids.splice(
        0,
        ids.length,
        ...[...text.matchAll(/^id: (\d+)\ndata: \{.*\}\n\n/gm)].map(([, id]) => Number(id)),
      );
    }
    return 'ended';
  };
  return { ids, ended: read().catch(String) };
}

test('[S7] the feed needs its own token, which opens nothing else and never stands in a query', async () => {
  const token = 'pages-0123456789';
  const [on, off] = [await open({ token }), await open({ feedToken: null })];
  const status = async (path: string, given?: string) =>
    (
      await fetch(
        `${on.url}${path}`,
        given === undefined ? {} : { headers: { Authorization: `Bearer ${given}` } },
      )
    ).status;
  for (const path of ['/feed', '/feed/stream']) {
    expect(await status(path)).toBe(401);
    expect(await status(path, token)).toBe(401);
    expect(await status(`${path}?token=${feedToken}&access_token=${feedToken}`)).toBe(401);
    expect((await fetch(`${off.url}${path}`, authorized)).status).toBe(404);
    expect((await fetch(`${on.url}${path}`, { ...authorized, method: 'POST' })).status).toBe(405);
  }
  for (const path of ['/feed', '/feed/stream']) {
    const { port } = new URL(on.url);
    // Not by fetch, which sets this header itself.
    const headers = { ...authorized.headers, 'Sec-Fetch-Site': 'cross-site' };
    const [answer] = await once(request({ port, path, headers, agent: false }).end(), 'response');
    answer.resume();
    expect([path, answer.statusCode]).toEqual([path, 403]);
  }
  expect(await status('/feed', feedToken)).toBe(200);
  expect(await status('/status.json', feedToken)).toBe(401);
});

test('a poll answers with lines of JSON, at once or as soon as an event comes', async () => {
  const http = await open();
  await insert(1, 3);
  const answer = await fetch(`${http.url}/feed?after=1`, authorized);
  expect(answer.headers.get('Content-Type')).toBe('application/x-ndjson; charset=utf-8');
  const [line = ''] = (await answer.text()).split('\n');
  expect(JSON.parse(line)).toEqual({
    seq: 2,
    recorded_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    wallet: 'main',
    kind: 'balance.changed',
    key: 'k',
    data: { text: 'x' },
  });
  expect(await poll(http, '')).toEqual([1, 2, 3]);
  expect(await poll(http, 'after=3')).toEqual([]);
  expect(await poll(http, 'after=3&wait=50ms')).toEqual([]);
  const waiting = [poll(http, 'after=3&wait=60s'), poll(http, 'after=3&wait=1m')];
  await insert(4, 5);
  http.wake();
  expect(await Promise.all(waiting)).toEqual([
    [4, 5],
    [4, 5],
  ]);
  await insert(6, 700);
  expect(await poll(http, 'after=5')).toHaveLength(500);
  for (const search of [
    'aftr=3',
    'after=-1',
    'after=x',
    'after=',
    'wait=61s',
    'wait=2h',
    'wait=x',
    `after=${'9'.repeat(16)}`,
  ])
    expect([search, (await fetch(`${http.url}/feed?${search}`, authorized)).status]).toEqual([
      search,
      400,
    ]);
});

test('a position that the feed does not have is answered with words', async () => {
  const { url } = await open();
  await insert(5, 9);
  for (const path of ['/feed', '/feed/stream']) {
    const ahead = await fetch(`${url}${path}?after=10`, authorized);
    expect([ahead.status, await ahead.text()]).toEqual([
      409,
      expect.stringContaining('the feed ends at 9: the database went back'),
    ]);
    const late = await fetch(`${url}${path}?after=2`, authorized);
    expect([late.status, await late.text()]).toEqual([
      410,
      expect.stringContaining('the events 3 to 4 have been deleted'),
    ]);
  }
});

test('a stream goes on behind the last event that the client names, and ends when the database goes back', async () => {
  const http = await open();
  await insert(1, 250);
  const [all, resumed, both] = [
    follow(http),
    follow(http, '?after=248'),
    follow(http, '?after=1', { 'Last-Event-ID': '249' }),
  ];
  await until(
    async () => all.ids.length === 250 && resumed.ids.length === 2 && both.ids.length === 1,
  );
  await insert(251);
  http.wake();
  await until(async () => [all, resumed, both].every(({ ids }) => ids.at(-1) === 251));
  expect(all.ids).toEqual(Array.from({ length: 251 }, (_, index) => index + 1));
  await query('delete from ledger.events where seq > 200');
  http.wake();
  expect(await all.ended).toBe('ended');
});

test('for a client that does not read no more is read, and the others get their events', async () => {
  const feed = createFeedReader(ledger);
  const positions: number[] = [];
  const read: typeof feed.read = (after, max) => {
    positions.push(after);
    return feed.read(after, max);
  };
  const http = await open({ feed: { ...feed, read } });
  await insert(1, 2_000, 20_000);
  const slow = connect(Number(new URL(http.url).port), '127.0.0.1');
  onTestFinished(() => void slow.destroy());
  slow.pause();
  slow.write(
    `GET /feed/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${feedToken}\r\n\r\n`,
  );
  await until(async () => positions.length > 1);
  const other = follow(http, '?after=1990');
  await until(async () => other.ids.length === 10);
  await insert(2_001);
  feed.wake();
  await until(async () => other.ids.at(-1) === 2_001);
  // Only two pages of the 40 MB, and as much as the buffers of the sockets hold, have been read.
  expect(Math.max(...positions.filter((position) => position < 1_990))).toBeLessThan(1_000);
});

test('an event that comes while a client reads reaches the next one at once, which read the same page', async () => {
  let isRead = false;
  let free = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    free = resolve;
  });
  const execute = async (statement: SQL) => {
    const result = await ledger.db.execute(statement);
    if (isRead) return result;
    isRead = true;
    await held;
    return result;
  };
  const feed = createFeedReader({ db: Object.assign(Object.create(ledger.db), { execute }) });
  const early = feed.read(0, 10);
  await until(async () => isRead);
  await insert(1);
  feed.wake();
  const late = feed.read(0, 10);
  free();
  expect(await late).toMatchObject({ kind: 'events', events: [{ seq: 1 }] });
  await early;
  expect(await feed.read(0, 10)).toEqual(await late);
});

test('a page of large events ends early, with one event at least, and nothing is skipped', async () => {
  const http = await open();
  await insert(1, 3, 700_000);
  await insert(4, 60, 20_000);
  const pages: number[][] = [];
  for (let after = 0; after < 60; after = pages.at(-1)?.at(-1) ?? 60)
    pages.push(await poll(http, `after=${after}`));
  expect(pages.flat()).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
  expect(pages.slice(0, 3)).toEqual([[1], [2], [3]]);
  // Half a MiB of 20 kB each.
  expect(Math.max(...pages.map(({ length }) => length))).toBeLessThan(30);
});

test('at most a hundred clients wait; the next one is asked to come later, and all end with the server', async () => {
  const http = await open();
  const streams = Array.from({ length: 100 }, () => follow(http));
  await until(async () => (await fetch(`${http.url}/feed`, authorized)).status === 503);
  const refused = await fetch(`${http.url}/feed/stream`, authorized);
  expect([refused.status, refused.headers.get('Retry-After')]).toEqual([503, '5']);
  await http.close();
  for (const { ended } of streams) expect(await ended).toBe('ended');
});

const hasCurl = await promisify(execFile)('curl', ['--version']).then(
  () => true,
  () => false,
);

test.skipIf(!hasCurl)(
  'curl -N shows events as they come, and resumes with Last-Event-ID',
  async () => {
    const http = await open();
    await insert(1, 3);
    const curl = spawn('curl', [
      '-sN',
      '-H',
      `Authorization: Bearer ${feedToken}`,
      '-H',
      'Last-Event-ID: 2',
      `${http.url}/feed/stream`,
    ]);
    onTestFinished(() => void curl.kill());
    let shown = '';
    curl.stdout.on('data', (part) => {
      shown += part;
    });
    await until(async () => shown.includes('id: 3\n'));
    await insert(4);
    http.wake();
    await until(async () => shown.includes('id: 4\n'));
    expect(shown).not.toContain('id: 2\n');
  },
);

test.each(['/feed?after=0', '/feed/stream'])(
  'while the database is away %s says when to ask again',
  async (path) => {
    const feed = {
      ...createFeedReader(ledger),
      read: () => Promise.reject(new Error('terminating connection')),
    };
    const { url } = await open({ feed });
    const answer = await fetch(`${url}${path}`, authorized);
    expect([answer.status, answer.headers.get('Retry-After'), await answer.text()]).toEqual([
      503,
      '5',
      'the database does not answer; the log says why\n',
    ]);
  },
);

test('a parameter of the feed that is given twice is refused', async () => {
  const { url } = await open();
  const answer = await fetch(`${url}/feed?after=1&wait=0s&after=2`, authorized);
  expect([answer.status, await answer.text()]).toEqual([400, 'after is given 2 times\n']);
});
