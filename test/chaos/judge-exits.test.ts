import { expect, test } from 'vitest';
import type { Exit } from './fleet.ts';
import { judgeExits } from './judge-exits.ts';

const outage = { of: 'database', from: 100_000, to: 110_000 } as const;

function reasons(change: Partial<Exit>): string[] {
  const exit: Exit = {
    member: 'one',
    command: 'start',
    pid: 1,
    startedAt: 90_000,
    endedAt: 105_000,
    code: 0,
    signal: null,
    told: null,
    wasStarted: true,
    lastWords: '',
    ...change,
  };
  return judgeExits([exit], [outage]).map(({ reason }) => reason);
}

test('the exit of a killed process needs no other explanation', () => {
  const told = { signal: 'SIGKILL', at: 105_000 } as const;
  expect(reasons({ code: null, signal: 'SIGKILL', told })).toEqual([]);
  expect(reasons({ code: null, signal: 'SIGSEGV' })).toEqual(['ended by SIGSEGV that nobody sent']);
});

test('a daemon may exit on its own only if it found no database at its start', () => {
  expect(reasons({ code: 5, wasStarted: false })).toEqual([]);
  expect(reasons({ code: 5 })).toEqual(['a daemon ended by itself with 5']);
  expect(reasons({ code: 1, wasStarted: false })).toHaveLength(1);
  expect(reasons({ code: 5, wasStarted: false, startedAt: 200_000, endedAt: 201_000 })).toEqual([
    'a daemon ended by itself with 5',
  ]);
});

test('a process that receives a stop signal exits with 0 within 30 s', () => {
  const told = { signal: 'SIGTERM', at: 100_000 } as const;
  expect(reasons({ told })).toEqual([]);
  expect(reasons({ told, code: 1 })).toEqual(['told to stop, it ended with 1']);
  expect(reasons({ told, endedAt: 131_000 })).toEqual(['took 31 s to stop']);
  const deaf = { told, code: null, signal: 'SIGTERM' } as const;
  expect(reasons({ ...deaf, wasStarted: false })).toEqual([]);
  expect(reasons(deaf)).toEqual(['told to stop, it ended with SIGTERM']);
});

test('a one-off command exits with a documented code, and with 5 only when the servers were away', () => {
  const command = 'backfill';
  for (const code of [0, 3, 4, 5]) expect(reasons({ command, code })).toEqual([]);
  for (const code of [1, 2, 134])
    expect(reasons({ command, code })).toEqual([`ended with ${code}`]);
  const later = { command, code: 5, startedAt: 200_000, endedAt: 201_000 };
  expect(reasons(later)).toEqual(['ended with 5 while database and queue were there']);
});
