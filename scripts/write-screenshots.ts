// Writes the pictures of docs/ from a demo: the status page, and two pages to look things up.
// npm run build && npx tsx scripts/write-screenshots.ts
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import type { Page } from 'playwright-core';
import { chromiumProgram, openChromium } from '../test/support/open-chromium.ts';

/** As far down as the amounts per coin. */
const viewport = { width: 1280, height: 1180 };
const lookedUp = { width: 1280, height: 760 };
const bytesMax = 200_000;
const startMs = 120_000;

/** Adds balances that moved for weeks, as their coins' flows did; a demo that is a minute old has none. */
const balancesOfWeeks = `
insert into ledger.balance_changes (slip44, symbol, contract_address, balance, frozen, observed_at)
select b.slip44, b.symbol, b.contract_address,
       greatest(0, b.balance - sum(f.net) over (partition by b.slip44, b.symbol, b.contract_address
                                                order by f.day desc)), b.frozen, f.day + time '12:00'
  from ledger.balances b
  join (select symbol, day, sum(case type when 'deposit' then amount else -amount end) as net
          from ledger.daily_flows
         where day between current_date - 28 and current_date - 1 and state = 'success' group by symbol, day) f
 using (symbol)`;

/** The demo's page and database, once both are there. */
async function startDemo(folder: string) {
  const demo = spawn(process.execPath, ['dist/src/cli/main.js', 'demo'], {
    env: { PATH: process.env['PATH'], HOME: folder, LEDGER_DATA_DIR: folder, HTTP_PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let told = '';
  const find = (words: RegExp) => words.exec(told)?.[1];
  const timer = setTimeout(() => demo.kill(), startMs);
  for await (const text of demo.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    told += text;
    if (find(/Status page: (\S+)/)) break;
  }
  clearTimeout(timer);
  demo.stdout.resume();
  const [url, connectionString] = [find(/Status page: (\S+)/), find(/psql "([^"]+)"/)];
  const close = async () => {
    if (demo.exitCode === null && demo.kill()) await once(demo, 'exit');
  };
  if (!url || !connectionString) {
    await close();
    throw new Error(`the demo did not start:\n${told}`);
  }
  return { url, connectionString, close };
}

async function takePicture(page: Page, path: string): Promise<void> {
  await page.screenshot({ path });
  const { size } = await stat(path);
  if (size >= bytesMax) throw new Error(`${path} has ${size} bytes, more than ${bytesMax}`);
}

async function takePictures(url: string): Promise<void> {
  const program = chromiumProgram();
  if (!program) throw new Error('there is no Chromium on the PATH');
  const chromium = await openChromium(program);
  try {
    const [page = await chromium.context.newPage()] = chromium.context.pages();
    await page.setViewportSize(viewport);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.goto(url);
      await page.getByText('Live: this page').waitFor();
      await page.getByText('All is well').waitFor();
      await takePicture(page, `docs/status-${colorScheme}.png`);
    }
    await page.setViewportSize(lookedUp);
    await page.goto(`${url}transactions?stream=deposit&state=success&coin=USDT`);
    await takePicture(page, 'docs/explorer-transactions.png');
    await page.locator('td.order a').first().click();
    await page.getByRole('heading', { name: 'Timeline' }).waitFor();
    await page.setViewportSize({ ...lookedUp, height: 1250 });
    await takePicture(page, 'docs/explorer-order.png');
  } finally {
    await chromium.close();
  }
}

await mkdir('docs', { recursive: true });
const folder = await mkdtemp(join(tmpdir(), 'wallet-ledger-pictures-'));
// Root's embedded PostgreSQL, which is not root, passes through.
await chmod(folder, 0o711);
try {
  const demo = await startDemo(folder);
  try {
    const client = new Client({ connectionString: demo.connectionString });
    await client.connect();
    await client.query(balancesOfWeeks);
    await client.end();
    await takePictures(demo.url);
  } finally {
    await demo.close();
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
