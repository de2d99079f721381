import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { programOnPath } from './program-on-path.ts';

const run = promisify(execFile);

/** The programs that read the journals; undefined if they are not installed. */
export const bookTools = {
  hledger: programOnPath(['hledger']),
  beancount: programOnPath(['bean-check']),
  ledger: programOnPath(['ledger']),
};

export type BookTool = keyof typeof bookTools;

const words: Record<BookTool, string[]> = {
  hledger: ['-f', 'JOURNAL', 'check', '--strict'],
  beancount: ['--no-cache', 'JOURNAL'],
  ledger: ['--pedantic', '-f', 'JOURNAL', 'balance'],
};

/** Checks a journal with the tool: empty if it accepts the journal, otherwise its message. */
export function judgeJournal(tool: BookTool, journal: string): Promise<string> {
  return call(tool, words[tool], journal).then(
    () => '',
    (error: { stdout?: string; stderr?: string }) =>
      `refused: ${error.stderr ?? error}${error.stdout ?? ''}`.slice(0, 2_000),
  );
}

/**
 * Empty if the tool has exactly these balances in custody, coin by coin and to the last digit; otherwise the tool's
 * balances. The balances have no trailing zeros.
 */
export async function judgeBalances(
  tool: BookTool,
  journal: string,
  balances: Map<string, string>,
): Promise<string> {
  if (tool === 'beancount') return await judgeDeclared(journal, balances);
  const sums = await sumsOf(tool, journal, 'assets:custody');
  const said = [...sums].map(([coin, sum]) => [coin, trimmed(sum)] as const);
  const kept = new Map(said.filter(([, sum]) => sum !== '0'));
  const coins = [...new Set([...kept.keys(), ...balances.keys()])];
  return coins
    .filter((coin) => kept.get(coin) !== balances.get(coin))
    .map((coin) => `${coin}: ${kept.get(coin)} for ${balances.get(coin)}`)
    .join(', ');
}

function trimmed(sum: string): string {
  return sum.includes('.') ? sum.replace(/\.?0+$/, '') : sum;
}

/** Lets bean-check compare the balances with its own. */
async function judgeDeclared(path: string, balances: Map<string, string>): Promise<string> {
  const journal = readFileSync(path, 'utf8');
  const lines = journal.matchAll(/^1970-01-01 commodity (\S+)\n {2}name: "(.*)"$/gm);
  const names = new Map([...lines].map(([, name = '', symbol = '']) => [symbol, name]));
  const checks = [...balances].map(
    ([symbol, balance]) =>
      `2999-01-01 balance Assets:Custody  ${balance} ~ 0 ${names.get(symbol)}\n`,
  );
  const copy = `${path}.checked`;
  writeFileSync(copy, journal + checks.join(''));
  return await judgeJournal('beancount', copy);
}

/** Sums of an account as the tool prints them, by the commodity names of the journal. */
export async function sumsOf(
  tool: 'hledger' | 'ledger',
  journal: string,
  account: string,
): Promise<Map<string, string>> {
  const own = `^${account}$`;
  const asked =
    tool === 'hledger'
      ? ['balance', '-E', '-N', '--flat', '--layout=bare', '-O', 'csv', own]
      : ['balance', '-E', '--flat', '--no-total', '--balance-format', '%(display_total)\n', own];
  const output = await call(tool, ['-f', 'JOURNAL', ...asked], journal);
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const pairs = tool === 'hledger' ? lines.slice(1).map(hledgerPair) : lines.map(ledgerPair);
  return new Map(pairs);
}

async function call(tool: BookTool, args: string[], journal: string): Promise<string> {
  const program = bookTools[tool] ?? '';
  const { stdout } = await run(
    program,
    args.map((word) => (word === 'JOURNAL' ? journal : word)),
    // The tools read the locale's encoding; the journals are UTF-8.
    { maxBuffer: 1 << 28, env: { ...process.env, LC_ALL: 'C.UTF-8' } },
  );
  return stdout;
}

/** `"account","commodity","sum"`, with a doubled quote for a quote. */
function hledgerPair(line: string): [string, string] {
  const [, commodity = '', sum = ''] = line.slice(1, -1).split('","');
  return [commodity.replaceAll('""', '"'), sum];
}

function ledgerPair(line: string): [string, string] {
  const [, sum = '', commodity = ''] = /^\s*(-?[\d.]+) (.*)$/.exec(line) ?? [];
  return [commodity.replaceAll('"', ''), sum];
}

/** Returns the note about the bookkeeping tools that the run prints before it begins. */
export function describeBookTools(): string {
  const entries = Object.entries(bookTools);
  const missing = entries.filter(([, path]) => path === undefined).map(([tool]) => tool);
  if (missing.length === 0) return 'hledger, bean-check and ledger';
  const skipped = missing.map((tool) => `"with ${tool}"`).join(', ');
  return `no ${missing.join(', no ')}: tests named ${skipped} are skipped (Debian packages hledger, beancount, ledger)`;
}
