import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { printStatus } from '../../src/cli/print-status.ts';
import { samplePool, sampleReport, sampleStream } from '../http/sample-report.ts';

const escapeCode = '\u001b';

test('the picture tells the proof, the pools and the queue', () => {
  const text = printStatus(sampleReport(), { useColor: false });
  expect(text).toContain('✓ all is well');
  expect(text).toContain(
    '✓ deposit   service says 5,012 · ledger holds 5,012 · proven complete · read 3 s ago',
  );
  expect(text).toContain('10,024 in the ledger · 10,021 final · 3 incomplete · 0 rejects');
  expect(text).toContain(`chain 60  ${'█'.repeat(19)}${'░'.repeat(5)}  80 of 100`);
  expect(text).toContain('postgres · 1 due · 2 at work · 0 failed');
  expect(text).not.toContain('Needs attention');
});

test('a pool tells how long it lasts and why it is not filled, and deposits nobody expected are counted', () => {
  const text = printStatus(
    sampleReport({
      pools: [
        samplePool({ daysLeft: 16.25, lastError: 'code 1003: \u001b[31mlimit reached' }),
        samplePool({ slip44: 195, available: 3, lastError: 'HTTP 403' }),
        samplePool({ slip44: 0, available: 100, lastError: 'long settled' }),
      ],
      unexpectedDeposits: { foreign: 3, unknown: 1_000 },
    }),
    { useColor: false },
  );
  expect(text).toMatch(/chain 60 .* 80 of 100 · refilled below 50 · lasts 16\.3 days/);
  expect(text).toContain('3 foreign, 1,000 unknown');
  expect(text).toContain('✗ the address pool of chain 60 could not be filled: code 1003:');
  expect(text).toContain('chain 195 is down to 3 addresses, and could not be filled: HTTP 403');
  expect(text.match(/→ check rights and limits at the service/g)).toHaveLength(2);
  expect(text).not.toContain(escapeCode);
  expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
});

test('colour is a matter of the caller alone', () => {
  const plain = printStatus(sampleReport(), { useColor: false });
  const coloured = printStatus(sampleReport(), { useColor: true });
  expect(plain).not.toContain(escapeCode);
  expect(coloured).toContain(escapeCode);
  expect(stripVTControlCharacters(coloured)).toBe(plain);
});

test('every problem is named, with what to do', () => {
  const text = printStatus(
    sampleReport({
      streams: [
        sampleStream({ ledgerCount: 5_000, isComplete: false, lagSeconds: 90_000 }),
        sampleStream({ name: 'withdraw', ledgerCount: 5_013, isComplete: false }),
        sampleStream({ name: 'addresses:60', serviceTotal: null, isComplete: false }),
        sampleStream({ name: 'addresses:0', isComplete: false, lastError: 'HTTP 500' }),
      ],
      rejects: 1,
      pools: [samplePool({ available: 0 })],
      lastRuns: sampleReport().lastRuns.map((run) => ({
        ...run,
        outcome: 'failed',
        error: 'broke',
      })),
      lastErrors: [{ job: 'transactions', at: '2026-03-01T11:00:00Z', message: 'broke' }],
      queue: { backend: 'redis', waiting: 0, active: 0, failed: 3 },
    }),
    { useColor: false },
  );
  const problems = [
    'deposit: 12 of 5,012 rows are missing',
    'deposit: last read well 25 h ago',
    'withdraw: the ledger holds 1 rows more than the service counts',
    'addresses:60: not read to the end yet',
    'addresses:0: HTTP 500',
    'addresses:0: the counts are equal, but no complete walk proves it yet',
    '1 value could not be decoded',
    'the address pool of chain 60 is empty',
    'transactions: the last run failed: broke',
    '3 job runs failed within the hour',
  ];
  for (const problem of problems) expect(text).toContain(`✗ ${problem}`);
  expect(text.match(/→ /g)).toHaveLength(problems.length);
  expect(text).toContain(`✗ ${problems.length} things need attention`);
  expect(text).toContain('transactions, 60 min ago: broke');
});

test('a queue that does not answer is a problem, and no crash', () => {
  expect(printStatus(sampleReport({ queue: null }), { useColor: false })).toContain(
    'check REDIS_URL',
  );
});

test('foreign text neither commands the terminal nor breaks the width', () => {
  const evil = `\u001b[2J\u009b31m\r\n\u202e${'x'.repeat(500)}`;
  const text = printStatus(
    sampleReport({
      streams: [sampleStream({ name: evil, lastError: evil, isComplete: false })],
      balances: Array.from({ length: 20 }, () => ({
        symbol: evil,
        chain: evil,
        balance: '1'.repeat(80),
        frozen: '2'.repeat(80),
        history: [],
      })),
      lastRuns: sampleReport().lastRuns.map((run) => ({
        ...run,
        job: evil,
        outcome: 'interrupted',
      })),
      lastErrors: [{ stream: evil, at: '2026-03-01T11:00:00Z', message: evil }],
    }),
    { useColor: false },
  );
  for (const control of ['\u001b', '\u009b', '\r', '\u202e']) expect(text).not.toContain(control);
  expect(text).toContain('and 5 more in ledger.balances');
  const widths = text.split('\n').map((line) => line.length);
  expect(Math.max(...widths)).toBeLessThanOrEqual(100);
});
