import { expect, test } from 'vitest';
import { keepAnswers } from '../../src/http/page/keep-answers.ts';

const bounds = { keepMs: 60_000, entriesMax: 100, sizeMax: 1_000 };

function counting(options: Partial<typeof bounds> = {}) {
  const reads: string[] = [];
  const keep = keepAnswers<string>({ ...bounds, ...options }, (answer) => answer.length);
  const ask = (key: string, answer = key) =>
    keep(key, async () => {
      reads.push(key);
      return answer;
    });
  return { keep, ask, reads };
}

test('callers of one key share the reading under way, and its answer for a while', async () => {
  const { ask, reads } = counting();
  expect(await Promise.all([ask('a'), ask('a'), ask('b')])).toEqual(['a', 'a', 'b']);
  expect(await ask('a')).toBe('a');
  expect(reads).toEqual(['a', 'b']);
});

test('after that it is read again', async () => {
  const { ask, reads } = counting({ keepMs: 5 });
  await ask('a');
  await expect.poll(() => ask('a').then(() => reads.length)).toBe(2);
});

test('a failure reaches those who wait for it, and is not kept', async () => {
  const { keep, ask } = counting();
  const fail = () => keep('a', () => Promise.reject(new Error('gone')));
  const outcomes = await Promise.allSettled([fail(), fail()]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await ask('a', 'there')).toBe('there');
});

test('the oldest answers are forgotten when there are too many or they are too large', async () => {
  const few = counting({ entriesMax: 2 });
  for (const key of ['a', 'b', 'c', 'c', 'b', 'a']) await few.ask(key);
  expect(few.reads).toEqual(['a', 'b', 'c', 'a']);
  const small = counting({ sizeMax: 10 });
  for (const key of ['a', 'b', 'a']) await small.ask(key, '123456');
  expect(small.reads).toEqual(['a', 'b', 'a']);
  await small.ask('large', '12345678901');
  await small.ask('large', '12345678901');
  expect(small.reads.slice(3)).toEqual(['large', 'large']);
});

test('an answer that was forgotten while it was read is not counted', async () => {
  const { keep, ask, reads } = counting({ entriesMax: 1, sizeMax: 10 });
  let finish = (_: string): void => undefined;
  const slow = keep('slow', () => new Promise((resolve) => (finish = resolve)));
  await ask('a', '12345');
  finish('1234567');
  expect(await slow).toBe('1234567');
  await ask('a', '12345');
  expect(reads).toEqual(['a']);
});
