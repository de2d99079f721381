import { countWords } from '../../kernel/count-words.ts';
import { LedgerError } from '../../kernel/errors.ts';
import { redactValues } from '../../kernel/redact.ts';
import {
  adoptForeign,
  type ForeignAddress,
  isAdoptable,
  isAdoptionUnsafe,
  listForeign,
  notForeign,
} from '../../ledger/addresses/adopt-store.ts';
import { type PoolLevel, readPoolLevels } from '../../ledger/addresses/pool-store.ts';
import { resumePool } from '../../ledger/addresses/refused-addresses.ts';
import { printableText } from '../../service/decoding/printable-text.ts';
import { daysWords } from '../../status/status-words.ts';
import { fillPools } from '../../sync/pools/fill-pools.ts';
import { runSyncTask } from '../../sync/run-sync-task.ts';
import { type CommandContext, forWallet } from '../context/command-context.ts';
import { refuseOtherWallet, sayOtherWallet } from '../context/compare-wallet.ts';
import { composeSync } from '../context/compose-sync.ts';
import { openExistingLedger } from '../context/open-existing-ledger.ts';
import { addMissingPools } from '../context/open-ledger.ts';
import { takeFromPool } from '../context/take-from-pool.ts';
import { fitLines } from '../output/fit-lines.ts';
import { jsonDocument } from '../output/json-document.ts';

/** Runs `wallet-ledger pool list`: prints the level of every chain. Resolves to 3 when a configured pool is empty. */
export async function poolList(
  context: CommandContext,
  options: { json?: boolean },
): Promise<number> {
  const { ledger } = await openExistingLedger(context);
  await sayOtherWallet(context, ledger);
  const levels = redactValues(await readPoolLevels(ledger.db), context.redact);
  printLevels(levels, options);
  if (levels.length === 0)
    say(
      context,
      'the ledger has no pool: set ADDRESS_POOLS, such as 60:50:100, and run `wallet-ledger start`',
    );
  const empty = levels.filter((level) => level.threshold !== null && level.available === 0);
  for (const { slip44 } of empty) sayEmpty(context, slip44);
  return empty.length === 0 ? 0 : 3;
}

/** Runs `wallet-ledger pool take`: prints only the address on stdout. Resolves to 3 when the pool has none. */
export async function poolTake(
  context: CommandContext,
  slip44: number,
  { reference }: { reference?: string },
): Promise<number> {
  // An empty reference is most likely an unset variable of a script: all its customers would get one address.
  if (reference?.trim() === '') {
    throw new LedgerError('usage', 'the reference is empty', {
      cure: 'give your name for the customer or order, or leave --reference out',
    });
  }
  const { ledger } = await openExistingLedger(context);
  await refuseOtherWallet(context, ledger);
  const address = await takeFromPool(context, ledger, slip44, reference ?? null);
  if (address === null) {
    sayEmpty(context, slip44);
    return 3;
  }
  await printTaken(slip44, printableText(address));
  return 0;
}

/** Prints an address that was taken. No other caller gets it again, so if printing fails, the error names it. */
async function printTaken(slip44: number, address: string): Promise<void> {
  const failure = await new Promise<Error | null | undefined>((resolve) => {
    process.stdout.write(`${address}\n`, resolve);
  });
  if (!failure) return;
  throw new LedgerError(
    'unexpected',
    `an address of chain ${slip44} was taken, and could not be printed (${failure.message}): ${address}`,
    { cause: failure, cure: 'use this address, or keep it: no call hands it out again' },
  );
}

/**
 * Runs `wallet-ledger pool adopt`: prints the chain's foreign addresses, or the named ones of them. With `--yes`, those
 * without a deposit become available. With `--json`, prints one document; `adopted` is null without `--yes`.
 */
export async function poolAdopt(
  context: CommandContext,
  slip44: number,
  named: string[],
  { yes, json }: { yes?: boolean; json?: boolean },
): Promise<number> {
  const { ledger } = await openExistingLedger(context);
  await (yes ? refuseOtherWallet : sayOtherWallet)(context, ledger);
  const asked = named.length === 0 ? null : named;
  const foreign = await ledger.longTransaction((db) => listForeign(db, slip44, asked));
  const strange = await ledger.longTransaction((db) => notForeign(db, slip44, named));
  if (strange.length > 0) {
    const names = strange.map((each) => printableText(each)).join(', ');
    throw new LedgerError('usage', `not a foreign address of chain ${slip44}: ${names}`, {
      cure: `\`wallet-ledger pool adopt ${slip44}\` shows those that are`,
    });
  }
  const isUnsafe = await isAdoptionUnsafe(ledger.db);
  const free = isUnsafe ? 0 : foreign.filter(isAdoptable).length;
  if (!json) process.stdout.write(foreign.map((each) => `${foreignLine(each)}\n`).join(''));
  const adopted = yes
    ? await ledger.longTransaction((db) => adoptForeign(db, slip44, asked))
    : null;
  if (json) {
    const report = { slip44, adoptable: free, adopted, foreign };
    process.stdout.write(jsonDocument(redactValues(report, context.redact)));
  } else if (adopted === null) {
    const counts = `${countWords(free)} of ${countWords(foreign.length)}`;
    say(
      context,
      `chain ${slip44}: ${counts} foreign addresses can be adopted${ofOthersWords(foreign)}; ${adviceFor(isUnsafe)}`,
    );
  } else {
    say(
      context,
      `${countWords(adopted)} ${adopted === 1 ? 'address' : 'addresses'} of chain ${slip44} became available${ofOthersWords(foreign)}`,
    );
  }
  return 0;
}

/** `, 3 stay foreign because another wallet of this ledger has them`; empty if none has any. */
function ofOthersWords(foreign: readonly ForeignAddress[]): string {
  const count = foreign.filter(({ otherWallet }) => otherWallet !== null).length;
  if (count === 0) return '';
  const [stay, them] = count === 1 ? ['stays', 'it'] : ['stay', 'them'];
  return `, ${countWords(count)} ${stay} foreign because another wallet of this ledger has ${them}`;
}

const adviceFor = (isUnsafe: boolean) =>
  isUnsafe
    ? 'the database has moved, and customers may have them: record what was handed out with `wallet-ledger recover` first'
    : 'another program may have handed them out: name those that are yours, and add --yes';

function foreignLine({
  address,
  firstSeenAt,
  hasDeposit,
  isHandedOut,
  otherPools,
  refused,
  isSetAside,
  isWithheld,
  otherWallet,
  isGivenThere,
}: ForeignAddress): string {
  const notes = [
    `first seen ${firstSeenAt}`,
    ...(refused === null ? [] : [`refused, ${refused}: stays foreign`]),
    ...(isSetAside ? ['set aside when the database moved: see `wallet-ledger recover`'] : []),
    ...(isWithheld ? ["the service's list no longer shows it: stays foreign"] : []),
    ...(hasDeposit ? ['has a deposit: stays foreign'] : []),
    ...(otherPools.length > 0 ? [`belongs to ${poolsWords(otherPools)} of this ledger`] : []),
    ...(otherWallet === null
      ? []
      : [
          `${isGivenThere ? 'given to a reference by' : 'in the pool of'} wallet ${otherWallet} of this ledger: stays foreign`,
        ]),
    ...(isHandedOut ? ['handed out on another chain: stays assigned to that reference'] : []),
  ];
  return `${printableText(address)}  ${notes.join(' · ')}`;
}

const poolsWords = (chains: number[]) =>
  `the ${chains.length === 1 ? 'pool of chain' : 'pools of chains'} ${chains.join(', ')}`;

/**
 * Runs `wallet-ledger pool refill`: fills the pools to their targets now. Resolves to 3 when a pool could not be
 * filled.
 */
export async function poolRefill(
  context: CommandContext,
  slip44: number | undefined,
  options: { json?: boolean; resume?: boolean },
): Promise<number> {
  const configured = context.settings.pools.chains.map((pool) => pool.slip44);
  const chains = slip44 === undefined ? configured : configured.filter((each) => each === slip44);
  if (chains.length === 0) {
    const which = slip44 === undefined ? 'no pool' : `no pool of chain ${slip44}`;
    throw new LedgerError('settings', `ADDRESS_POOLS names ${which}`, {
      cure: 'add slip44:threshold:target to it, such as 60:50:100',
    });
  }
  const { sync } = await composeSync(context, { isSchemaKept: true });
  await addMissingPools(sync.ledger, context);
  if (options.resume) {
    for (const chain of chains) await sync.ledger.transaction((db) => resumePool(db, chain));
  }
  const { signal } = context.shutdown;
  const report = await runSyncTask(sync, 'pools', (own) =>
    fillPools(own, { signal, whenBusy: 'wait', chains, force: true }),
  );
  const levels = redactValues(await readPoolLevels(sync.ledger.db), context.redact);
  const asked = levels.filter((level) => chains.includes(level.slip44));
  printLevels(asked, options);
  if (report.isComplete) return 0;
  const low = asked.filter(({ available, target }) => available < (target ?? 0));
  if (low.length === 0)
    say(context, 'not all pools can be confirmed as full; `wallet-ledger status` says why');
  for (const level of low) {
    const reason = printableText(
      level.lastError ?? 'its address list, or an earlier request, is not resolved yet',
    );
    say(
      context,
      `the pool of chain ${level.slip44} could not be filled: ${reason}; \`wallet-ledger status\` says what to do`,
    );
  }
  return 3;
}

function printLevels(levels: PoolLevel[], { json }: { json?: boolean }): void {
  process.stdout.write(
    json
      ? jsonDocument({ pools: levels })
      : fitLines(levels.map(levelLine).join(''), process.stdout.columns),
  );
}

function levelLine({ slip44, available, threshold, target, ...level }: PoolLevel): string {
  const counts = [
    target === null
      ? `${countWords(available)} available · no pool configured`
      : `${countWords(available)} of ${countWords(target)} available · refilled below ${countWords(threshold ?? 0)}`,
    `${countWords(level.assigned)} assigned`,
    `${countWords(level.used)} used`,
    ...(level.foreign > 0 ? [`${countWords(level.foreign)} foreign`] : []),
    `${countWords(level.generated24h)} generated in 24 h`,
    ...(level.daysLeft === null ? [] : [daysWords(level.daysLeft)]),
  ];
  return `chain ${slip44}: ${counts.join(' · ')}\n`;
}

function sayEmpty(context: CommandContext, slip44: number): void {
  say(
    context,
    `the address pool of chain ${slip44} is empty; run \`wallet-ledger pool refill ${slip44}\`, and \`wallet-ledger status\` says why it is not filled`,
  );
}

function say({ settings }: CommandContext, line: string): void {
  process.stderr.write(forWallet(settings, `wallet-ledger: ${line}\n`));
}
