import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { printStatus } from '../../src/cli/print-status.ts';
import { sampleReport, sampleStream } from '../http/sample-report.ts';

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
      pools: [{ slip44: 60, available: 0, threshold: 50, target: 100 }],
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
