import { createContext, runInContext } from 'node:vm';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { statusScript } from '../../src/http/status-page/status-script.ts';

/** The few things of a browser that the script touches; everything else is tested in Chromium. */
class Source {
  static CLOSED = 2;
  static latest: Source;
  readyState = 1;
  onmessage: (event: { data: string }) => void = () => undefined;
  onerror: () => void = () => undefined;
  constructor() {
    Source.latest = this;
  }
  close(): void {
    this.readyState = Source.CLOSED;
  }
  tell(title: string): void {
    this.onmessage({ data: JSON.stringify({ title, parts: {} }) });
  }
}

function open() {
  const classes = new Set<string>();
  const listeners = new Map<string, () => void>();
  const banner = { textContent: '' };
  const document = {
    title: 'wallet-ledger: all is well',
    hidden: false,
    documentElement: {
      classList: {
        add: (name: string) => classes.add(name),
        remove: (name: string) => classes.delete(name),
      },
    },
    querySelectorAll: () => [],
    querySelector: (selector: string) =>
      selector === '[data-cut-off]' ? banner : { textContent: '' },
    addEventListener: (name: string, listener: () => void) => listeners.set(name, listener),
  };
  runInContext(
    statusScript,
    createContext({
      document,
      EventSource: Source,
      setTimeout,
      clearTimeout,
      Date,
      JSON,
      Map,
      Object,
    }),
  );
  return { document, banner, classes, listeners };
}

beforeEach(() => {
  vi.useFakeTimers({ now: new Date('2026-03-01T12:00:00Z') });
});
afterEach(() => {
  vi.useRealTimers();
});

test('a page that hears nothing for 10 s says since when, at its top and in its title', async () => {
  const { document, banner, classes } = open();
  Source.latest.tell('wallet-ledger: all is well');
  await vi.advanceTimersByTimeAsync(9_000);
  expect([banner.textContent, document.title]).toEqual(['', 'wallet-ledger: all is well']);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(banner.textContent).toBe('No update since 12:00:00 UTC: this page shows old data.');
  expect(document.title).toBe('No update since 12:00:00 UTC · wallet-ledger');
  expect([...classes]).toEqual(['is-cut-off']);
});

test('events every 5 s keep it live, and the first one after a silence takes the banner away', async () => {
  const { document, banner, classes } = open();
  for (let tick = 0; tick < 10; tick += 1) {
    Source.latest.tell('wallet-ledger: 1 warning');
    await vi.advanceTimersByTimeAsync(5_000);
    expect(banner.textContent).toBe('');
  }
  await vi.advanceTimersByTimeAsync(60_000);
  expect(banner.textContent).toContain('12:00:45');
  Source.latest.tell('wallet-ledger: 2 warnings');
  expect([banner.textContent, document.title, classes.size]).toEqual([
    '',
    'wallet-ledger: 2 warnings',
    0,
  ]);
});

test('a connection that fails is said at once, and a refused one is tried again', async () => {
  const { banner } = open();
  const first = Source.latest;
  first.tell('wallet-ledger: all is well');
  await vi.advanceTimersByTimeAsync(2_000);
  first.readyState = Source.CLOSED;
  first.onerror();
  expect(banner.textContent).toContain('No update since 12:00:00 UTC');
  await vi.advanceTimersByTimeAsync(10_000);
  expect(Source.latest).not.toBe(first);
  Source.latest.tell('wallet-ledger: all is well');
  expect(banner.textContent).toBe('');
});

test('a page that never hears anything says so too', async () => {
  const { banner } = open();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(banner.textContent).toContain('No update since 12:00:00 UTC');
});

test('a hidden page sends no request and claims nothing in its title', async () => {
  const { document, listeners } = open();
  Source.latest.tell('wallet-ledger: all is well');
  document.hidden = true;
  listeners.get('visibilitychange')?.();
  expect(document.title).toBe('Paused · wallet-ledger');
  expect(vi.getTimerCount()).toBe(0);
  document.hidden = false;
  listeners.get('visibilitychange')?.();
  Source.latest.tell('wallet-ledger: all is well');
  expect(document.title).toBe('wallet-ledger: all is well');
});
