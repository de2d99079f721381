import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Bench, BenchPart } from '../bench.ts';
import { type Figure, percentile } from '../figures.ts';
import { type BookedWallet, openBookedWallet } from '../open-booked-wallet.ts';
import { runProduct } from '../run-product.ts';
import { startDaemon } from '../running-daemon.ts';
import { type StaticService, startStaticService } from '../static-service.ts';

const readers = 10;
/** Time (ms) for which a person reads a page. */
const lookMs = 2_000;
const pageMsMax = 100;
const rateAtLeast = 0.95;

const noJobs = {
  SYNC_TRANSACTIONS_EVERY: 'off',
  SYNC_DETAILS_EVERY: 'off',
  SYNC_BALANCES_EVERY: 'off',
  SYNC_COINS_EVERY: 'off',
  SYNC_ADDRESSES_EVERY: 'off',
  FILL_POOLS_EVERY: 'off',
  AUDIT_EVERY: 'off',
};

type Look = { page: string; ms: number };

/** (y) Time that readers wait for pages of a long history while another wallet is backfilled. */
export const explorerPagesPart: BenchPart = {
  letters: 'y',
  title: 'pages of a long history beside a backfill',
  async run(bench) {
    const rows = bench.isQuick ? 300_000 : 10_000_000;
    const wallet = await openBookedWallet(bench, rows);
    const service = await startStaticService(bench.isQuick ? 100_000 : 1_000_000);
    bench.onEnd(service.close);
    const env = envOf(bench, wallet, service);
    const daemon = await startDaemon(bench, { ...env, ...noJobs, LOG_LEVEL: 'info' });
    const alone: number[] = [];
    const beside: number[] = [];
    const looks: Look[] = [];
    await lookOnce(`${daemon.url}/wallets/main`, pagesOf(rows));
    for (const [from, name] of readWallets(bench.runs).entries()) {
      const isAlone = from % 2 === 0;
      const stopping = new AbortController();
      const reading = Array.from({ length: isAlone ? 0 : readers }, (_, reader) =>
        look(`${daemon.url}/wallets/main`, pagesOf(rows), from + reader, stopping.signal),
      );
      const walk = await runProduct(['backfill', '--no-details', '--wallet', name], env);
      stopping.abort();
      looks.push(...(await Promise.all(reading)).flat());
      (isAlone ? alone : beside).push(walk.seconds);
      await wallet.client.query('checkpoint');
    }
    await daemon.stop();
    await wallet.client.end();
    await wallet.close();
    return toFigures(rows, looks, alone, beside);
  },
};

/** Wallets whose history is read: one without readers and one beside them for each run. */
function readWallets(runs: number): string[] {
  return Array.from({ length: 2 * runs }, (_, number) => `read_${number}`);
}

function envOf(bench: Bench, wallet: BookedWallet, service: StaticService): Record<string, string> {
  const names = readWallets(bench.runs);
  const secrets = names.map((name, number) => [
    `${name.toUpperCase()}__WALLET_API_SECRET`,
    String(number + 1).repeat(64),
  ]);
  return {
    ...service.env,
    ...Object.fromEntries(secrets),
    DATABASE_URL: wallet.connectionString,
    WALLETS: ['main', ...names].join(','),
    MAIN__WALLET_BASE_URL: wallet.service.baseUrl,
    MAIN__WALLET_API_SECRET: 'a'.repeat(64),
  };
}

/** Pages under the wallet's own address; `n` selects the rows of a visit, so that few rows are visited twice. */
const pagesOf = (rows: number) => (n: number) => {
  const id = String((n * 7_919) % Math.floor(rows / 2 - 10_000)).padStart(12, '0');
  const day = new Date(Date.now() - ((n % 900) + 60) * 86_400_000).toISOString().slice(0, 10);
  return [
    ['status', '/'],
    ['transactions', '/transactions'],
    ['transactions, filtered', `/transactions?stream=deposit&coin=USDT&to=${day}`],
    ['transactions, by amount', `/transactions?min=${n % 900}&max=${(n % 900) + 0.01}&to=${day}`],
    ['transactions, failed ones', `/transactions?state=failed&to=${day}`],
    ['transactions, as CSV', `/transactions?to=${day}&format=csv`],
    ['an order', `/transactions/D${id}`],
    ['an address', `/addresses/0x${createHash('md5').update(String(n)).digest('hex')}00000000`],
    ['coins', '/coins'],
    ['a coin', `/coins/${['BTC', 'ETH', 'TRX', 'USDT'][n % 4]}`],
    ['pools', '/pools'],
    ['proof', '/proof'],
    ['rejects', '/rejects'],
    ['runs', '/runs'],
    ['problems', '/problems'],
  ] as const;
};

/** Opens each page as its first visitor, whose answer needs modules and plans that are not loaded yet. */
async function lookOnce(url: string, pages: PagesOf): Promise<void> {
  for (const [, path] of pages(0)) await (await fetch(`${url}${path}`)).text();
}

type PagesOf = (n: number) => readonly (readonly [name: string, path: string])[];

async function look(
  url: string,
  pages: PagesOf,
  reader: number,
  signal: AbortSignal,
): Promise<Look[]> {
  const looks: Look[] = [];
  for (let n = reader; !signal.aborted; n += readers) {
    const choice = pages(n);
    const [page, path] = choice[n % choice.length] ?? ['status', '/'];
    const startedAt = performance.now();
    const response = await fetch(`${url}${path}`);
    looks.push({ page, ms: performance.now() - startedAt });
    await response.text();
    if (!response.ok && response.status !== 404) throw new Error(`${path}: ${response.status}`);
    await delay(lookMs, undefined, { signal }).catch(() => undefined);
  }
  return looks;
}

function toFigures(rows: number, looks: Look[], alone: number[], beside: number[]): Figure[] {
  const part = 'y';
  const at = `at ${rows.toLocaleString('en')} transactions, ${readers} readers beside a backfill`;
  const pages = [...new Set(looks.map(({ page }) => page))].sort();
  return [
    ...pages.map((page): Figure => {
      const ms = looks.filter((each) => each.page === page).map((each) => each.ms);
      return {
        part,
        what: `first byte of ${page}, ${at}: p99`,
        unit: 'ms',
        samples: [percentile(ms, 0.99)],
        target: { of: 'value', atMost: pageMsMax },
        note: `${ms.length} looks`,
      };
    }),
    {
      part,
      what: 'that backfill',
      unit: '1/s',
      samples: beside.map((seconds) => 1 / seconds),
      floor: { what: 'without readers', samples: alone.map((seconds) => 1 / seconds) },
      target: { of: 'ratio', atLeast: rateAtLeast },
    },
  ];
}
