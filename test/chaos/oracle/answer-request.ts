import type { SeededRandom } from '../../support/seeded-random.ts';
import type { AddressTruth } from './address-truth.ts';
import type { AssetTruth } from './asset-truth.ts';
import type { Lies, OracleCall } from './oracle-types.ts';
import { type PageQuestion, pageJson } from './page-json.ts';
import { detailJson, listJson, type TransactionRow } from './transaction-row.ts';
import type { TransactionTruth } from './transaction-truth.ts';

export type World = {
  transactions: TransactionTruth;
  assets: AssetTruth;
  addresses: AddressTruth;
  lies: Lies;
  /** Separate source of randomness, so that requests do not affect the later history. */
  lieRandom: SeededRandom;
  pageSizeMax: number;
  newestFirst: boolean;
};

/** `data` as JSON text; a code other than 0 is a refusal. `note` describes the answer in the call log. */
export type Answer = { code: number; message: string; data: string; note: string };

type Params = ReadonlyMap<string, string>;

const numMax = 200;
const pageSizeDefault = 10;

/** Returns the service's answer to a request with a good signature. */
export function answerRequest(world: World, call: OracleCall, params: Params): Answer {
  switch (`${call.method} ${call.path}`) {
    case 'GET /v1/transaction/list':
      return listTransactions(world, params);
    case 'GET /v1/transaction/info':
      return transactionInfo(world, params);
    case 'GET /v1/wallet/balance':
      return good(world.assets.balancesJson());
    case 'GET /v1/wallet/coin':
      return good(world.assets.coinsJson());
    case 'GET /v1/wallet/address/list':
      return listAddresses(world, call, params);
    case 'POST /v1/wallet/address':
      return generateAddresses(world, call, params);
    default:
      return refused(1404, 'no such endpoint');
  }
}

export function refused(code: number, message: string): Answer {
  return { code, message, data: 'null', note: `refused: ${message}` };
}

function good(data: string, lies: readonly string[] = []): Answer {
  return { code: 0, message: 'success', data, note: ['ok', ...lies].join(':lie ') };
}

function listTransactions(world: World, params: Params): Answer {
  const type = params.get('type') ?? 'all';
  const paging = pagingOf(world, params);
  if (!paging || (type !== 'deposit' && type !== 'withdraw' && type !== 'all')) {
    return refused(1400, 'bad parameter');
  }
  const { lists, byOrderNo } = world.transactions;
  const all = lists[type].rows;
  const { lies, lieRandom } = world;
  const before = (ms: number) => {
    const since = Date.now() - ms;
    return all.filter(({ enteredAt }) => enteredAt <= since);
  };
  const rows = lieRandom.chance(lies.oldReplica) ? before(behindMs) : all;
  const claimedTotal = lieRandom.chance(lies.laggingTotal) ? before(behindMs).length : rows.length;
  const shown = (list: readonly TransactionRow[]) => ({
    total: list.length,
    item: (index: number) => listJson(list[index] as TransactionRow),
  });
  const guest = world.transactions.lists.deposit.rows[0];
  const hasGuest = type === 'withdraw' && paging.page === 1 && guest !== undefined;
  const guests = hasGuest ? [listJson(guest)] : [];
  const { answer } = page(world, {
    ...{ ...paging, ...shown(rows), claimedTotal, guests },
    before: (count) => shown(withoutLast(rows, count, byOrderNo)),
  });
  // Records that the withdrawals start or stop showing the guest with this answer.
  if (hasGuest) {
    const { history } = world.transactions;
    history.note('withdraw', guest.orderNo, answer.note.includes('otherListsRow'));
  }
  return answer;
}

const behindMs = 3_000;

/** The list as shown before its last changes: it has a late row in its middle. */
function withoutLast(
  rows: readonly TransactionRow[],
  count: number,
  byEntry: TransactionTruth['byOrderNo'],
): TransactionRow[] {
  const listed = new Set(rows);
  const entered = [...byEntry.values()].filter((row) => listed.has(row));
  for (const row of entered.slice(entered.length - count)) listed.delete(row);
  return [...listed];
}

function transactionInfo({ transactions, lies, lieRandom }: World, params: Params): Answer {
  const row = transactions.byOrderNo.get(params.get('orderNo') ?? '');
  if (!row) return refused(1405, 'order not found');
  if (!lieRandom.chance(lies.wrongDetail)) return good(detailJson(row));
  return good(detailJson(lieRandom.pick(transactions.lists.all.rows)), ['wrongDetail']);
}

function listAddresses(world: World, call: OracleCall, params: Params): Answer {
  const slip44 = integerOf(params.get('slip44'));
  call.slip44 = slip44;
  const paging = pagingOf(world, params);
  if (slip44 === null || !paging) return refused(1400, 'bad parameter');
  const visible = world.addresses.visible(slip44);
  if (!visible) return refused(1406, 'chain is not supported');
  const item = (index: number) => addressJson(visible.all[index]?.address ?? '');
  const { answer, isLast } = page(world, { ...paging, total: visible.count, item });
  world.addresses.noteRead(slip44, paging.page, world.newestFirst ? paging.page === 1 : isLast);
  return answer;
}

function generateAddresses({ addresses }: World, call: OracleCall, params: Params): Answer {
  const slip44 = integerOf(params.get('slip44'));
  const num = integerOf(params.get('num') ?? '1');
  call.slip44 = slip44;
  if (slip44 === null || num === null || num < 1) return refused(1400, 'bad parameter');
  const post = addresses.receive(call.serial, slip44, num);
  if (num > numMax) return refused(1407, 'num exceeds the limit');
  if (!addresses.addresses.has(slip44)) return refused(1406, 'chain is not supported');
  const made = addresses.generate(post).map(({ address }) => addressJson(address));
  return good(`[${made.join(',')}]`);
}

function page(world: World, question: Omit<PageQuestion, 'newestFirst'>) {
  const { lies, lieRandom, newestFirst } = world;
  const told = pageJson({ ...question, newestFirst }, lies, (rate) => lieRandom.chance(rate));
  return { answer: good(told.json, told.lies), isLast: told.isLast };
}

function pagingOf(world: World, params: Params): { page: number; size: number } | null {
  const number = integerOf(params.get('pageNo') ?? '1');
  const size = integerOf(params.get('pageSize') ?? String(pageSizeDefault));
  if (number === null || size === null || number < 1 || size < 1) return null;
  return { page: number, size: Math.min(size, world.pageSizeMax) };
}

function addressJson(address: string): string {
  return JSON.stringify({ address, createdBy: 'api' });
}

function integerOf(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : null;
}
