export type Stream = 'deposit' | 'withdraw';

/** The fields of an order that may change, with the text as sent; '' is an empty field. */
export type Standing = {
  state: string;
  confirmNum: string;
  amount: string;
  txHash: string;
  toAddress: string;
  fee: string;
  feeSymbol: string;
};

type Version = Standing & { moment: number | null; at: number };

/** Hostile field of an odd row, and the value that a ledger must store for it. */
export type Oddity = {
  kind: string;
  field: string;
  /** JSON text of the field; null: the field is missing. */
  sent: string | null;
  /** Value to be stored: null, or text in which unstorable characters are replaced. */
  stored: string | null;
};

export type TransactionRow = Standing & {
  orderNo: string;
  stream: Stream;
  requestId: string;
  symbol: string;
  fromAddress: string;
  timeMs: number;
  /** Time when the service first listed it, by the wall clock; 0: from the start. */
  enteredAt: number;
  /** Sent as a JSON number, not as text. */
  isAmountNumber: boolean;
  /** Members of a JSON object that the document does not name, without braces; '' for none. */
  extra: string;
  /** Remaining states, the final one last; empty: final. */
  plan: string[];
  odd: Oddity | null;
  /** Every version so far, the present one last; null while there is only one. */
  versions: Version[] | null;
};

export function standingOf(row: Standing): Standing {
  const { state, confirmNum, amount, txHash, toAddress, fee, feeSymbol } = row;
  return { state, confirmNum, amount, txHash, toAddress, fee, feeSymbol };
}

/** The row as an item of the transaction list (document, 2.4). */
export function listJson(row: TransactionRow): string {
  return `{${members(row, listMembers(row))}}`;
}

/** The row as a transaction detail (document, 2.3). */
export function detailJson(row: TransactionRow): string {
  return `{${members(row, [
    ...listMembers(row),
    ['confirmNum', text(row.confirmNum)],
    ['fee', text(row.fee)],
    ['feeSymbol', text(row.feeSymbol)],
  ])}}`;
}

type Member = readonly [name: string, json: string];

const text = (value: string) => JSON.stringify(value);

function listMembers(row: TransactionRow): Member[] {
  return [
    ['orderNo', text(row.orderNo)],
    ['requestId', text(row.requestId)],
    ['symbol', text(row.symbol)],
    ['txHash', text(row.txHash)],
    ['fromAddress', text(row.fromAddress)],
    ['toAddress', text(row.toAddress)],
    ['amount', row.isAmountNumber ? row.amount : text(row.amount)],
    ['type', text(row.stream)],
    ['state', text(row.state)],
    ['time', String(row.timeMs)],
  ];
}

function members({ odd, extra }: TransactionRow, all: Member[]): string {
  const parts: string[] = [];
  for (const [name, json] of all) {
    const sent = odd?.field === name ? odd.sent : json;
    if (sent !== null) parts.push(`"${name}":${sent}`);
  }
  if (extra !== '') parts.push(extra);
  return parts.join(',');
}
