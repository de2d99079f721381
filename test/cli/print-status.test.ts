import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { printStatus } from '../../src/cli/status-view/print-status.ts';
import type { StatusReport } from '../../src/status/status-report.ts';
import { samplePool, sampleProblem, sampleReport, sampleStream } from '../support/sample-report.ts';

const escapeCode = '\u001b';

function draw(changes: Partial<StatusReport> = {}, columns?: number): string {
  return printStatus(sampleReport(changes), { useColor: false, columns });
}

const broken: Partial<StatusReport> = {
  streams: [
    sampleStream({ ledgerCount: 5_000, isComplete: false, lagSeconds: 90_000 }),
    sampleStream({ name: 'withdraw', ledgerCount: 5_013, isComplete: false }),
    sampleStream({ name: 'addresses:60', serviceTotal: null, isComplete: false, lagSeconds: null }),
    sampleStream({ name: 'addresses:0', isComplete: false, lastError: 'HTTP 500' }),
    sampleStream({ name: 'addresses:1', lastError: 'HTTP 500' }),
  ],
  problems: [
    sampleProblem({
      name: 'pool_empty',
      severity: 'critical',
      what: 'the address pool of chain 60 is empty',
      cure: 'run `wallet-ledger pool refill 60`',
    }),
    sampleProblem(),
    ...[1, 2, 3, 4, 5, 6].map((number) =>
      sampleProblem({
        name: 'stream_unread',
        since: null,
        what: `list ${number} has not been read yet`,
        cure: 'see the list',
      }),
    ),
  ],
  transactions: {
    total: 10_024,
    incomplete: 1_003,
    final: 10_021,
    detailsToFetch: 1_000,
    detailsRefused: 7,
  },
  rejects: 1,
  pools: [samplePool({ available: 0 })],
  lastRuns: sampleReport().lastRuns.map((run) => ({ ...run, outcome: 'failed', error: 'broke' })),
  lastErrors: [
    { wallet: 'main', job: 'transactions', at: '2026-03-01T11:00:00Z', message: 'broke' },
  ],
  queue: null,
};

test('the output shows the verdict, the proof, the pools and the queue', () => {
  const text = draw();
  const full = '█'.repeat(20);
  expect(text).toMatch(/^✓ all is well · 2026-03-01 12:00:00 UTC\n/);
  expect(text).toContain(`✓ deposit   ${full}    5,012 of 5,012  proven complete · read 3 s ago\n`);
  expect(text).toContain(`✓ details   ${full}  10,021 of 10,021  all fetched · 3 not final yet\n`);
  expect(text).toContain('10,024 transactions · 10,021 final · 0 values not decoded');
  expect(text).toContain(`✓ chain 60  ${'█'.repeat(10)}┃${'█'.repeat(5)}░░░░  80 of 100`);
  expect(text).toContain('postgres · 1 due · 2 running · 0 failed');
});

test('a bar is full only where nothing is missing, and empty only where nothing is there', () => {
  const text = draw({
    streams: [
      sampleStream({ name: 'nearly', ledgerCount: 999_999, serviceTotal: 1_000_000 }),
      sampleStream({ name: 'hardly', ledgerCount: 1, serviceTotal: 1_000_000 }),
      sampleStream({ name: 'none', ledgerCount: 0, serviceTotal: 0 }),
    ],
  });
  expect(text).toContain(`nearly   ${'█'.repeat(19)}░ `);
  expect(text).toContain(`hardly   █${'░'.repeat(19)} `);
  expect(text).toContain(`none     ${'█'.repeat(20)} `);
});

test('a pool shows how long it lasts and why it is not filled, and unexpected deposits are counted', () => {
  const text = draw({
    pools: [
      samplePool({ daysLeft: 16.25, lastError: 'code 1003: \u001b[31mlimit reached' }),
      samplePool({ slip44: 195, available: 3, lastError: 'HTTP 403' }),
      samplePool({ slip44: 0, available: 100, lastError: 'long settled' }),
    ],
    unexpectedDeposits: { foreign: 3, unknown: 1_000 },
  });
  expect(text).toMatch(/… chain 60 .* 80 of 100 {2}lasts 16\.3 days · refilled below 50/);
  expect(text).toMatch(/✗ chain 195 .* 3 of 100 {2}none taken in 7 days/);
  expect(text).toContain('3 foreign, 1,000 unknown');
  expect(text).not.toContain(escapeCode);
});

test('colour is a matter of the caller alone', () => {
  for (const changes of [{}, broken]) {
    const plain = draw(changes);
    const coloured = printStatus(sampleReport(changes), { useColor: true, columns: 100 });
    expect(plain).not.toContain(escapeCode);
    expect(coloured).toContain(escapeCode);
    expect(stripVTControlCharacters(coloured)).toBe(plain);
  }
});

test('every problem is named before all else, critical ones first, and what to do below it', () => {
  const text = draw(broken);
  const [attention = '', rest = ''] = text.split('Proof:');
  expect(attention).toMatch(/^✗ 2 critical problems and 7 warnings · 2026-03-01 12:00:00 UTC\n/);
  expect(attention).toContain('✗ the address pool of chain 60 is empty (for 60 min)');
  expect(attention).toContain('! 2 values could not be decoded');
  // The same cure is printed once, with its first problems.
  expect(attention.match(/→ see the list/g)).toHaveLength(1);
  expect(attention).toContain('list 3 has not been read yet');
  expect(attention).not.toContain('list 5 has not been read yet');
  expect(attention).toContain('and 2 more of this kind');
  expect(attention.indexOf('queue')).toBeLessThan(attention.indexOf('decoded'));
  expect(rest).toContain('… details');
  expect(rest).toContain('1,000 still to fetch');
  expect(rest).toContain('7 refused by the service for days');
  expect(rest).toContain('transactions, 60 min ago: broke');
});

test('a cure is printed whole, and a cut text of the service ends with an ellipsis', () => {
  const cure = `\`select ${'o.order_no, '.repeat(60)}1\` names them; correct the books`;
  const what = 'the service says so '.repeat(30);
  const text = draw({ problems: [sampleProblem({ what, cure })] });
  const shown = text.replaceAll(/\s+/g, ' ');
  expect(shown).toContain(cure);
  expect(shown).toMatch(/the service says so… \(for 60 min\)/);
});

test('of many lists and pools only the first and those with a problem are drawn', () => {
  const text = draw({
    streams: Array.from({ length: 30 }, (_, index) =>
      sampleStream({ name: `addresses:${index}`, isComplete: index !== 29 }),
    ),
    pools: Array.from({ length: 30 }, (_, index) =>
      samplePool({ slip44: index, available: index === 29 ? 1 : 80 }),
    ),
  });
  expect(text).toContain('✗ addresses:29');
  expect(text).not.toContain('addresses:20');
  expect(text).toContain('and 21 more, proven complete');
  expect(text).toContain('✗ chain 29');
  expect(text).toContain('and 21 more above their thresholds');
});

test('a queue that does not answer is a problem, and no crash', () => {
  expect(draw({ queue: null })).toContain('check REDIS_URL');
});

test.each([
  [undefined, 100],
  [200, 100],
  [80, 80],
  [60, 60],
  [40, 60],
])('with %s columns no line is wider than %i', (columns, widthMax) => {
  const large = sampleStream({ ledgerCount: 99_999_999, serviceTotal: 100_000_000 });
  for (const changes of [{}, broken, { ...broken, streams: [large] }]) {
    const widths = draw(changes, columns)
      .split('\n')
      .map((line) => line.length);
    expect(Math.max(...widths)).toBeLessThanOrEqual(widthMax);
  }
});

test('foreign text neither commands the terminal nor breaks the width', () => {
  const evil = `\u001b[2J\u009b31m\r\n\u202e${'x'.repeat(500)}`;
  const text = draw({
    problems: [sampleProblem({ what: evil, cure: evil })],
    streams: [sampleStream({ name: evil, notCompleteBecause: evil, isComplete: false })],
    balances: Array.from({ length: 20 }, () => ({
      wallet: 'main',
      symbol: evil,
      chain: evil,
      balance: `${'1'.repeat(80)}.${'3'.repeat(80)}`,
      frozen: '2'.repeat(80),
      history: [],
    })),
    lastRuns: sampleReport().lastRuns.map((run) => ({ ...run, job: evil, outcome: 'interrupted' })),
    lastErrors: [{ wallet: 'main', stream: evil, at: '2026-03-01T11:00:00Z', message: evil }],
  });
  for (const control of ['\u001b', '\u009b', '\r', '\u202e']) expect(text).not.toContain(control);
  expect(text).toContain('and 5 more in ledger.balances');
  const widths = text.split('\n').map((line) => line.length);
  expect(Math.max(...widths)).toBeLessThanOrEqual(100);
});

test('the points of the balances stand below each other', () => {
  const balances = ['1.50', '12345.6', '7', null].map((balance) => ({
    wallet: 'main',
    symbol: 'BTC',
    chain: 'Bitcoin',
    balance,
    frozen: '0.0',
    history: [],
  }));
  expect(draw({ balances })).toContain(
    [
      '  BTC on Bitcoin      1.50',
      '  BTC on Bitcoin  12345.6',
      '  BTC on Bitcoin      7',
      '  BTC on Bitcoin      –',
    ].join('\n'),
  );
});

const { transactions, rejects, unexpectedDeposits } = sampleReport();
const counts = { transactions, rejects, unexpectedDeposits };

const twoWallets: Partial<StatusReport> = {
  wallets: [
    { name: 'eu', isResting: false, counts },
    { name: 'old', isResting: true, counts: null },
    { name: 'other', isResting: false, counts: null },
    { name: 'us', isResting: false, counts },
  ],
  problems: [
    sampleProblem({ wallet: 'us', what: 'deposit is late' }),
    sampleProblem({ wallet: '', what: 'the feed waits' }),
  ],
  streams: [
    sampleStream({ wallet: 'eu', name: 'list-of-eu' }),
    sampleStream({ wallet: 'us', name: 'list-of-us' }),
  ],
  pools: [samplePool({ wallet: 'us', slip44: 195 }), samplePool({ wallet: 'eu', slip44: 60 })],
  balances: sampleReport().balances.map((balance) => ({ ...balance, wallet: 'us' })),
  lastRuns: sampleReport().lastRuns.map((run) => ({ ...run, wallet: 'eu', job: 'job-of-eu' })),
  lastErrors: [{ wallet: 'us', job: 'details', at: '2026-03-01T11:00:00Z', message: 'HTTP 500' }],
};

test('with several wallets, what concerns one stands below its name, and one that rests has a line', () => {
  const text = draw(twoWallets);
  expect(text).toContain('us: deposit is late');
  expect(text).toMatch(/! the feed waits/);
  const [head = '', eu = '', old = '', other = '', us = ''] = text.split(/^ Wallet /m);
  expect(head).not.toContain('Proof');
  expect(eu).toMatch(/^eu \n[\s\S]*list-of-eu[\s\S]*chain 60[\s\S]*job-of-eu/);
  expect(eu).not.toMatch(/list-of-us|chain 195|HTTP 500|BTC/);
  expect(old).toBe('old  resting: it is kept and no longer read\n\n');
  expect(other).toBe('other  not shown: WALLETS does not name it here\n\n');
  expect(us).toMatch(/^us \n[\s\S]*list-of-us[\s\S]*chain 195[\s\S]*BTC[\s\S]*HTTP 500/);
  expect(us).not.toMatch(/list-of-eu|job-of-eu/);
  expect(text.match(/^Queue$/gm)).toHaveLength(1);
});

test('a single wallet has no heading, whatever its name', () => {
  const named = draw({ wallets: [{ name: 'eu', isResting: false, counts: null }] });
  expect(named).toBe(draw());
});
