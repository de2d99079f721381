import type { Ledger } from '../../ledger/connection/connect-ledger.ts';
import {
  type GrantReport,
  grantConsumer,
  grantIssuer,
  grantReader,
  isConsumer,
} from '../../ledger/connection/grant-roles.ts';
import { type PublicationReport, publishTables } from '../../ledger/connection/publish-tables.ts';
import { acceptWallet, readWalletIdentity, requireNewKey } from '../../ledger/wallet-identity.ts';
import { printableText } from '../../service/decoding/printable-text.ts';
import { requireSameWallet } from '../../sync/checks/require-same-wallet.ts';
import type { WalletOption } from '../context/choose-wallet.ts';
import type { CommandContext } from '../context/command-context.ts';
import { refuseOtherWallet } from '../context/compare-wallet.ts';
import { openClient } from '../context/open-client.ts';
import { migrate, openLedger } from '../context/open-ledger.ts';
import { type OpenedWallet, openWallet } from '../context/open-wallet.ts';

type MigrateOptions = {
  reader?: string;
  issuer?: string;
  consumer?: string;
  publication?: string;
  walletKey?: boolean;
} & WalletOption;

/**
 * Runs `wallet-ledger migrate`: updates the schemas of ledger and queue, grants the named roles their rights, publishes
 * the tables, and with `walletKey` accepts the wallet of the settings, if the service shows that it is still the same.
 */
export async function migrateCommand(
  context: CommandContext,
  options: MigrateOptions,
): Promise<number> {
  const { reader, issuer, consumer, publication, walletKey, wallet: name } = options;
  // Opens the wallet first, so that mistaken settings are refused before any change.
  const wallet = walletKey ? await openWallet(context) : null;
  const opened = await openLedger(context);
  await migrate(opened, context);
  process.stderr.write('the schema is up to date\n');
  if (wallet) await requireSameOwner(context, opened.ledger, wallet);
  else await refuseStrangers(context, opened.ledger, options);
  if (reader !== undefined) {
    const report = await grantReader(opened.ledger, reader, name ?? null);
    const rows = name === undefined ? '' : await rowWords(opened.ledger, reader, name);
    sayGranted(reader, `may read all tables and views of the schema ledger${rows}`, report);
  }
  const scope = scopeWords(context.settings.walletNames.length > 1, name);
  if (issuer !== undefined) {
    const report = await grantIssuer(opened.ledger, issuer);
    const functions = 'ledger.take_address, ledger.take_further_address and ledger.hint';
    sayGranted(issuer, `may call ${functions}${scope}`, report);
  }
  if (consumer !== undefined) {
    const report = await grantConsumer(opened.ledger, consumer);
    sayGranted(consumer, `may read and acknowledge the events of the change feed${scope}`, report);
  }
  if (publication !== undefined) {
    sayPublished(publication, await publishTables(opened.ledger, publication));
  }
  if (wallet) {
    await acceptWallet(opened.ledger.db, opened.ledger.wallet, wallet.identity);
    process.stderr.write(
      `the ledger now belongs to the configured key, at ${wallet.identity.baseUrl}\n`,
    );
  }
  return 0;
}

/**
 * Throws LedgerError `settings` if the settings open another wallet than the one whose rows the ledger holds, and the
 * service's error if that cannot be found out. Settings that the ledger has recorded already are not checked.
 */
async function requireSameOwner(
  context: CommandContext,
  ledger: Ledger,
  wallet: OpenedWallet,
): Promise<void> {
  const { baseUrl, keyFingerprint } = wallet.identity;
  const stored = await readWalletIdentity(ledger.db, ledger.wallet);
  if (stored?.baseUrl === baseUrl && stored.keyFingerprint === keyFingerprint) return;
  await requireNewKey(ledger.db, ledger.wallet, wallet.identity);
  const { client } = openClient(context, ledger, wallet);
  const { signal } = context.shutdown;
  await requireSameWallet({ db: ledger.db, client, signal }, baseUrl);
}

/**
 * Throws LedgerError `settings` before it grants rights on another wallet's ledger: the readers of this wallet would
 * see the other one's history.
 */
async function refuseStrangers(
  context: CommandContext,
  ledger: Ledger,
  { reader, issuer, consumer, publication, wallet }: MigrateOptions,
): Promise<void> {
  if ((reader ?? issuer ?? consumer ?? publication) === undefined) return;
  const { walletNames } = context.settings;
  await refuseOtherWallet(context, ledger, wallet === undefined ? walletNames : [wallet]);
}

/** Says what a reader of one wallet sees: also the events of the others if it got the right to the feed before. */
async function rowWords(ledger: Ledger, role: string, wallet: string): Promise<string> {
  const rows = `, and sees the rows of the wallet ${wallet} only`;
  if (!(await isConsumer(ledger, role))) return rows;
  return `${rows}; warning: through the change feed it can read the events of every wallet, because it was made a consumer (--consumer): grant --reader to another role if it must not`;
}

/** Says which rights hold for every wallet because they cannot be limited to one. */
function scopeWords(hasSeveral: boolean, wallet: string | undefined): string {
  if (!hasSeveral) return '';
  return wallet === undefined
    ? ', for every wallet'
    : ', for every wallet: --wallet limits a reader only';
}

function sayPublished(publication: string, { tables, isLogical }: PublicationReport): void {
  const lines = [
    `${tables} tables are published as ${printableText(publication)}: those of the schema ledger, and those of engine that its views read; views cannot be published`,
    ...(isLogical
      ? []
      : [
          'logical replication needs wal_level = logical: set it in postgresql.conf, and restart PostgreSQL',
        ]),
  ];
  process.stderr.write(`${lines.join('\n')}\n`);
}

function sayGranted(role: string, may: string, { isNew, limits, forbidden }: GrantReport): void {
  const name = printableText(role);
  const lines = [`${name} ${may}`];
  if (isNew) {
    lines.push(
      `${name} did not exist and was created; it cannot log in: grant it to a role that can, or drop it if the name was mistyped`,
    );
  }
  const bounds = Object.entries(limits).map(([setting, value]) => `${setting} ${value}`);
  lines.push(
    forbidden.length === 0
      ? `sessions that log in as ${name} got these limits, except where others were set: ${bounds.join(', ')}; the limits do not apply to its members`
      : `sessions of ${name} have no limits, because this role may not set them; let a role that may alter ${name} run: ${forbidden.map((each) => `${printableText(each)};`).join(' ')}`,
  );
  process.stderr.write(`${lines.join('\n')}\n`);
}
