import { LedgerError } from '../../kernel/errors.ts';
import { redactValues } from '../../kernel/redact.ts';
import type { Ledger } from '../../ledger/connection/connect-ledger.ts';
import { listOtherWallets, type OtherWallet } from '../../ledger/list-other-wallets.ts';
import {
  type FoundAddress,
  type FoundRecords,
  type FoundTransaction,
  findByScan,
  findIndexed,
} from '../../ledger/transactions/find-records.ts';
import { printableText } from '../../service/decoding/printable-text.ts';
import { addressDoubts, transactionDoubts } from '../../status/describe-record.ts';
import type { CommandContext } from '../context/command-context.ts';
import { sayOtherWallet } from '../context/compare-wallet.ts';
import { openExistingLedger } from '../context/open-existing-ledger.ts';
import { jsonDocument } from '../output/json-document.ts';

/**
 * Runs `wallet-ledger show`: prints everything in the ledger about an order number, request id, transaction hash or
 * address, also of the wallets that WALLETS does not name. Resolves to 3 when nothing is found.
 */
export async function show(
  context: CommandContext,
  given: string,
  { json, wallet: option }: { json?: boolean; wallet?: string },
): Promise<number> {
  if (given.trim() === '') {
    throw new LedgerError('usage', 'the text to search for is empty', {
      cure: 'name an order number, a request id, a transaction hash or an address',
    });
  }
  const { ledger } = await openExistingLedger(context);
  const others = await listOtherWallets(ledger.db, context.settings.walletNames);
  const asked = await walletOf(context, ledger, others);
  let { text, found } = await find(ledger, given);
  let wallet = asked;
  // A name that was given asks for this wallet alone.
  for (const other of isEmpty(found) && option === undefined ? others : []) {
    const elsewhere = await find(ledger.forWallet(other.name), given);
    if (isEmpty(elsewhere.found)) continue;
    wallet = other;
    ({ text, found } = elsewhere);
    break;
  }
  const shown = redactValues(found, context.redact);
  process.stdout.write(json ? toJson(text, wallet.name, shown) : toText(shown));
  if (isEmpty(found)) {
    process.stderr.write(
      `wallet-ledger: the ledger knows no order, request, hash or address ${printableText(text)}; \`wallet-ledger status\` says how fresh and how complete it is\n`,
    );
    return 3;
  }
  if (others.includes(wallet))
    process.stderr.write(`wallet-ledger: this is of the wallet ${otherWords(wallet)}\n`);
  return 0;
}

/** Returns the wallet of the settings. Throws LedgerError `usage` for one that neither WALLETS nor the ledger has. */
async function walletOf(
  context: CommandContext,
  ledger: Ledger,
  others: readonly OtherWallet[],
): Promise<OtherWallet> {
  const { wallet, walletNames } = context.settings;
  if (walletNames.includes(wallet)) {
    await sayOtherWallet(context, ledger);
    return { name: wallet, isResting: false };
  }
  const other = others.find(({ name }) => name === wallet);
  if (other) return other;
  const names = [...walletNames, ...others.map(({ name }) => name)].join(', ');
  throw new LedgerError('usage', `neither WALLETS nor the ledger has a wallet "${wallet}"`, {
    cure: `use one of ${names}`,
  });
}

function otherWords({ name, isResting }: OtherWallet): string {
  return isResting
    ? `${name}, which rests: its rows are kept as they were last read`
    : `${name}, which WALLETS does not name here`;
}

async function find(ledger: Ledger, given: string): Promise<{ text: string; found: FoundRecords }> {
  // A name may begin or end with blanks; those of a pasted one may not belong to it.
  const exact = await findIndexed(ledger.db, given);
  const text = isEmpty(exact) ? given.trim() : given;
  const indexed = text === given ? exact : await findIndexed(ledger.db, text);
  return { text, found: isEmpty(indexed) ? await findByScan(ledger.db, text) : indexed };
}

function isEmpty({ transactions, addresses, rejects }: FoundRecords): boolean {
  return transactions.length + addresses.length + rejects.length === 0;
}

function toJson(
  query: string,
  wallet: string,
  { transactions, addresses, rejects, isCut }: FoundRecords,
): string {
  const withDoubts = ({ addresses: own, ...row }: FoundTransaction) => ({
    ...row,
    addresses: own.map(withAddressDoubts),
    notCertain: transactionDoubts({ ...row, addresses: own }),
  });
  const document = {
    query,
    wallet,
    transactions: transactions.map(withDoubts),
    addresses: addresses.map(withAddressDoubts),
    rejects,
    isCut,
  };
  return jsonDocument(document);
}

function withAddressDoubts(address: FoundAddress) {
  return { ...address, notCertain: addressDoubts(address) };
}

function toText({ transactions, addresses, rejects, isCut }: FoundRecords): string {
  const parts = [
    ...addresses.map((address) => addressLines(address)),
    ...transactions.map((transaction) => transactionLines(transaction)),
    ...rejects.map(({ id, field, reason }) => [
      `reject ${id}: ${field ?? 'the row'} could not be decoded: ${reason}`,
    ]),
    ...(isCut ? [['more transactions match; ledger.transactions has all of them']] : []),
  ];
  return parts.map((lines) => `${lines.map(printableLine).join('\n')}\n`).join('\n');
}

/** Makes a line safe for the terminal, because foreign text in it could move the cursor. Keeps the indent. */
function printableLine(line: string): string {
  return `${/^ */.exec(line)?.[0] ?? ''}${printableText(line)}`;
}

function transactionLines(found: FoundTransaction): string[] {
  const { orderNo, stream, amount, symbol, state, fee, feeSymbol, changes } = found;
  const standing = found.isSuccess ? 'final, moved money' : found.isFinal ? 'final' : 'not final';
  return [
    `${stream} ${orderNo}`,
    ...field('amount', amount === null ? null : `${amount} ${symbol ?? ''}`),
    ...field('chain', found.slip44 === null ? null : String(found.slip44)),
    ...field('state', `${state ?? '(none)'} (${standing})`),
    ...field('type', found.type),
    ...field('request id', found.requestId),
    ...field('hash', found.txHash),
    ...field('from', found.fromAddress),
    ...field('to', found.toAddress),
    ...found.addresses.flatMap((address) => field('address', addressWords(address))),
    ...field('fee', fee === null ? null : `${fee} ${feeSymbol ?? ''}`),
    ...field('confirmations', found.confirmNum === null ? null : String(found.confirmNum)),
    ...field('time', found.occurredAt),
    ...field('first seen', found.firstSeenAt),
    ...field('changed', found.changedAt),
    ...field('detail', found.detailSyncedAt),
    ...field('more', found.extra === null ? null : JSON.stringify(found.extra)),
    ...changes.map(
      ({ observedAt, field: name, oldValue, newValue }) =>
        `  ${observedAt}  ${name}: ${oldValue ?? '(none)'} -> ${newValue ?? '(none)'}`,
    ),
    ...transactionDoubts(found).map((doubt) => `  ! ${doubt}`),
  ];
}

function addressLines(address: FoundAddress): string[] {
  return [
    `address ${address.address}`,
    ...field('standing', addressWords(address)),
    ...field('first deposit', address.firstDepositOrderNo),
    ...field('first seen', address.firstSeenAt),
    ...addressDoubts(address).map((doubt) => `  ! ${doubt}`),
  ];
}

/** `chain 60, assigned to customer 7 at 2026-…`. */
function addressWords({ slip44, status, assignedTo, assignedAt }: FoundAddress): string {
  const holder = assignedTo === null ? '' : ` to ${assignedTo}`;
  return `chain ${slip44}, ${status}${holder}${assignedAt === null ? '' : ` at ${assignedAt}`}`;
}

function field(name: string, value: string | null): string[] {
  return value === null ? [] : [`  ${name.padEnd(14)}${value}`];
}
