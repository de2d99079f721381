import { countWords, daysWords } from '../../http/status-words.ts';
import { LedgerError } from '../../kernel/errors.ts';
import {
  adoptForeign,
  type PoolLevel,
  readPoolLevels,
  takeAddress,
} from '../../ledger/pool-store.ts';
import { printableText } from '../../service/printable-text.ts';
import { fillPools } from '../../sync/fill-pools.ts';
import { runPart } from '../../sync/run-part.ts';
import type { CommandContext } from '../command-context.ts';
import { followPools, migrate, type OpenedLedger, openLedger } from '../open-ledger.ts';
import { openTools } from '../open-tools.ts';

/** `wallet-ledger pool list`: the level of every chain; 3 when a configured pool is empty. */
export async function poolList(
  context: CommandContext,
  options: { json?: boolean },
): Promise<number> {
  const { ledger } = await openPools(context);
  const levels = await readPoolLevels(ledger.db);
  printLevels(levels, options);
  if (levels.length === 0) say('no pool is configured; set ADDRESS_POOLS, such as 60:50:100');
  const empty = levels.filter((level) => level.threshold !== null && level.available === 0);
  for (const { slip44 } of empty) sayEmpty(slip44);
  return empty.length === 0 ? 0 : 3;
}

/** `wallet-ledger pool take`: an address, alone on stdout; 3 when there is none. */
export async function poolTake(
  context: CommandContext,
  slip44: number,
  { reference }: { reference?: string },
): Promise<number> {
  // A forgotten variable of a script, most likely: all its customers would get one address.
  if (reference === '') {
    throw new LedgerError('usage', 'the reference is empty', {
      cure: 'name whom the address is for, or leave --reference out',
    });
  }
  const { ledger } = await openPools(context);
  const address = await takeAddress(ledger.db, slip44, reference ?? null);
  if (address === null) {
    sayEmpty(slip44);
    return 3;
  }
  process.stdout.write(`${address}\n`);
  return 0;
}

/** `wallet-ledger pool adopt`: the chain's foreign addresses become available. */
export async function poolAdopt(context: CommandContext, slip44: number): Promise<number> {
  const { ledger } = await openPools(context);
  const adopted = await ledger.transaction((db) => adoptForeign(db, slip44));
  process.stdout.write(
    `${countWords(adopted)} ${adopted === 1 ? 'address' : 'addresses'} of chain ${slip44} became available\n`,
  );
  return 0;
}

/** `wallet-ledger pool refill`: fills to the target now; 3 when a pool could not be filled. */
export async function poolRefill(
  context: CommandContext,
  slip44: number | undefined,
  options: { json?: boolean },
): Promise<number> {
  const configured = context.settings.pools.chains.map((pool) => pool.slip44);
  const chains = slip44 === undefined ? configured : configured.filter((each) => each === slip44);
  if (chains.length === 0) {
    const which = slip44 === undefined ? 'no pool' : `no pool of chain ${slip44}`;
    throw new LedgerError('settings', `ADDRESS_POOLS names ${which}`, {
      cure: 'add slip44:threshold:target to it, such as 60:50:100',
    });
  }
  const { tools } = await openTools(context);
  const { signal } = context.shutdown;
  const report = await runPart(tools, 'pools', (own) =>
    fillPools(own, { signal, whenBusy: 'wait', chains, force: true }),
  );
  const levels = await readPoolLevels(tools.ledger.db);
  const asked = levels.filter((level) => chains.includes(level.slip44));
  printLevels(asked, options);
  if (report.isComplete) return 0;
  for (const level of asked.filter(({ available, target }) => available < (target ?? 0))) {
    const reason = printableText(
      level.lastError ?? 'its address list, or an earlier request, is not settled yet',
    );
    say(
      `the pool of chain ${level.slip44} could not be filled: ${reason}; \`wallet-ledger status\` says what to do`,
    );
  }
  return 3;
}

async function openPools(context: CommandContext): Promise<OpenedLedger> {
  const opened = await openLedger(context);
  await migrate(opened, context);
  await followPools(opened, context);
  return opened;
}

function printLevels(levels: PoolLevel[], { json }: { json?: boolean }): void {
  process.stdout.write(
    json ? `${JSON.stringify({ pools: levels }, null, 2)}\n` : levels.map(levelLine).join(''),
  );
}

function levelLine({ slip44, available, threshold, target, ...level }: PoolLevel): string {
  const counts = [
    target === null
      ? `${countWords(available)} available · no pool configured`
      : `${countWords(available)} of ${countWords(target)} available · refilled below ${countWords(threshold ?? 0)}`,
    `${countWords(level.assigned)} assigned`,
    `${countWords(level.used)} used`,
    `${countWords(level.generated24h)} generated in 24 h`,
    ...(level.daysLeft === null ? [] : [daysWords(level.daysLeft)]),
  ];
  return `chain ${slip44}: ${counts.join(' · ')}\n`;
}

function sayEmpty(slip44: number): void {
  say(
    `the address pool of chain ${slip44} is empty; run \`wallet-ledger pool refill ${slip44}\`, or \`wallet-ledger pool adopt ${slip44}\` for the addresses that the service listed already`,
  );
}

function say(line: string): void {
  process.stderr.write(`wallet-ledger: ${line}\n`);
}
