import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { createBoardRoute } from '../../src/http/board-route.ts';
import { silentLog } from '../../src/kernel/log.ts';

test('a board that could not be opened once is opened with the next request', async () => {
  let opened = 0;
  const openBoard = async () => {
    opened += 1;
    if (opened === 1) throw new Error('the database is away');
    return async () => new Response('the board');
  };
  const app = new Hono().get('/queues', createBoardRoute({ openBoard, log: silentLog }));
  expect((await app.request('/queues')).status).toBe(503);
  const second = await app.request('/queues');
  expect([second.status, await second.text()]).toEqual([200, 'the board']);
});
