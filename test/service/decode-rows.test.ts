import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RecordSource } from '../../src/kernel/wallet-records.ts';
import { decodeAddresses } from '../../src/service/decoding/decode-address.ts';
import { decodeBalances } from '../../src/service/decoding/decode-balance.ts';
import { decodeCoins } from '../../src/service/decoding/decode-coin.ts';
import { decodePayload } from '../../src/service/decoding/decode-payload.ts';
import {
  decodeTransactionDetails,
  decodeTransactions,
} from '../../src/service/decoding/decode-transaction.ts';
import { parseExactJson } from '../../src/service/decoding/exact-json.ts';
import { forAllSync } from '../support/for-all.ts';

const now = Date.UTC(2025, 0, 1);
const row = {
  orderNo: 'o-1',
  requestId: '',
  symbol: 'ETH',
  txHash: '0xabc',
  fromAddress: '0x1',
  toAddress: '0x2',
  amount: '1.50',
  type: 'deposit',
  state: 'Success',
  time: now - 1000,
};
const record = {
  orderNo: 'o-1',
  requestId: null,
  symbol: 'ETH',
  txHash: '0xabc',
  fromAddress: '0x1',
  toAddress: '0x2',
  amount: '1.50',
  type: 'deposit',
  state: 'Success',
  occurredAt: now - 1000,
  extra: null,
};

function decodeOne(changes: Record<string, unknown>) {
  const { records, rejects } = decodeTransactions([{ ...row, ...changes }], now);
  return { record: records[0], rejects, fields: rejects.map(({ field }) => field) };
}

describe('a transaction', () => {
  it('keeps the values of the service, with empty texts as null', () => {
    expect(decodeTransactions([row], now)).toEqual({ records: [record], rejects: [] });
  });

  it('that an answer shows twice has the values of the last row, and the other row is kept if its coin, amount or type differs', () => {
    const again = (change: object) => decodeTransactions([{ ...row, ...change }, row], now);
    expect(again({}).rejects).toEqual([]);
    expect(again({ state: 'pending', txHash: '' }).rejects).toEqual([]);
    for (const change of [{ amount: '7' }, { symbol: 'BTC' }, { type: 'withdraw' }]) {
      const { records, rejects } = again(change);
      expect(records.at(-1)).toEqual(record);
      const payload = JSON.stringify({ ...row, ...change });
      expect(rejects).toEqual([
        {
          source: 'transaction-list',
          orderNo: 'o-1',
          field: null,
          reason: expect.stringContaining('another coin, amount or type'),
          payload,
        },
      ]);
    }
  });

  it('has confirmations and fee in its detail, where blank means unknown', () => {
    const detail = { ...row, confirmNum: '12', fee: '0.001', feeSymbol: 'ETH' };
    const blank = { ...row, confirmNum: '', fee: '', feeSymbol: '' };
    expect(decodeTransactionDetails([detail, blank], now)).toEqual({
      records: [
        { ...record, confirmNum: 12, fee: '0.001', feeSymbol: 'ETH' },
        { ...record, confirmNum: null, fee: null, feeSymbol: null },
      ],
      rejects: [],
    });
  });

  it.each(['', ' ', null, undefined, true, {}, [], 'a\0b', 'a\ud800', 'x'.repeat(257), 1.5])(
    '[V8 V9 V10] without a usable orderNo (%j) is one reject, and the row next to it is kept',
    (orderNo) => {
      const text = JSON.stringify([{ ...row, orderNo, amount: 'NaN' }, row]);
      const { records, rejects } = decodeTransactions(parseExactJson(text) as unknown[], now);
      expect(records).toEqual([record]);
      expect(rejects).toMatchObject([
        { orderNo: null, field: 'orderNo', source: 'transaction-list' },
      ]);
    },
  );

  it.each([
    ['Case ', 'Case '],
    ['ﬁ', 'ﬁ'],
    ['é'.repeat(128), 'é'.repeat(128)],
    [12345, '12345'],
  ])('[V10] keeps the exact characters of orderNo %j', (orderNo, kept) => {
    expect(decodeOne({ orderNo }).record?.orderNo).toBe(kept);
  });

  it('keeps the digits of an orderNo that is a long number', () => {
    const text = JSON.stringify(row).replace('"o-1"', '12345678901234567890');
    const { records } = decodeTransactions([parseExactJson(text)], now);
    expect(records[0]?.orderNo).toBe('12345678901234567890');
  });

  it('names the fields that could not be read, to distinguish them from empty ones', () => {
    const { record } = decodeOne({ amount: 'NaN', state: {}, txHash: '', time: null });
    expect(record).toMatchObject({ amount: null, state: null, txHash: null, occurredAt: null });
    expect(record?.unreadable?.toSorted()).toEqual(['amount', 'state', 'time']);
    expect(decodeOne({ txHash: '' }).record).not.toHaveProperty('unreadable');
  });

  it.each<[Record<string, unknown>, string, unknown]>([
    [{ amount: '' }, 'amount', null],
    [{ amount: 'NaN' }, 'amount', null],
    [{ symbol: true }, 'symbol', null],
    [{ state: { a: 1 } }, 'state', null],
    [{ txHash: 'a\0b\ud800' }, 'txHash', null],
    [{ state: 'a\0b\ud800' }, 'state', 'a\ufffdb\ufffd'],
    [{ toAddress: 'é'.repeat(1001) }, 'toAddress', null],
  ])('[V1 V2 V8 V9] with the field %j is kept with one reject', (changes, field, stored) => {
    const decoded = decodeOne(changes);
    expect(decoded.record).toMatchObject({ orderNo: 'o-1', [field]: stored });
    expect(decoded.rejects).toMatchObject([{ orderNo: 'o-1', field }]);
    expect(decoded.rejects[0]?.reason).toMatch(new RegExp(`^${field} is `));
    expect(parseExactJson(decoded.rejects[0]?.payload ?? '')).toEqual({ ...row, ...changes });
  });

  it.each([
    0,
    -1,
    1_718_587_017,
    8.64e15 + 1,
    'soon',
    null,
    undefined,
    '',
    1.5,
    true,
    now + 86_400_001,
  ])('[V7] at the impossible time %j is kept without it', (time) => {
    const text = JSON.stringify({ ...row, time });
    const { records, rejects } = decodeTransactions([parseExactJson(text)], now);
    expect(records[0]?.occurredAt).toBeNull();
    expect(rejects).toMatchObject([{ field: 'time' }]);
  });

  it.each([1_718_587_017_026, '1718587017026'])(
    'may have its time as number or text: %j',
    (time) => {
      expect(decodeOne({ time }).record?.occurredAt).toBe(1_718_587_017_026);
    },
  );

  it('[V6 V12] keeps its undocumented fields with all their digits', () => {
    const text = `{"orderNo":"o-1","amount":1.10,"time":${now},"memo":"a","rate":0.12345678901234567890,"big":1e200000,"none":null,"__proto__":{"x":1}}`;
    const [decoded] = decodeTransactions([parseExactJson(text)], now).records;
    expect(decoded?.amount).toBe('1.10');
    expect(decoded?.extra).toBe(
      '{"memo":"a","rate":0.12345678901234567890,"big":"1e200000","none":null,"__proto__":{"x":1}}',
    );
  });

  it('[V8 V9 H6] has undocumented fields only in a form that jsonb holds', () => {
    expect(decodeOne({ 'k\0': 'a\0\ud800' }).record?.extra).toBe('{"k\ufffd":"a\ufffd\ufffd"}');
    const deep = JSON.parse('['.repeat(5000) + ']'.repeat(5000)) as unknown;
    expect(decodeOne({ deep }).record?.extra).toContain('"nested too deep"');
    const long = decodeOne({ long: '"é'.repeat(20_000) }).record?.extra ?? '';
    // An object as well: answers are merged, and two texts would both be kept.
    expect(JSON.parse(long)).toEqual({
      'longer than 16 KiB, begins': expect.stringMatching(/^\{"long":/),
    });
    expect(Buffer.byteLength(long)).toBeLessThan(16 * 1024);
  });

  it('has a payload beyond 64 KiB cut, and marked as cut', () => {
    const [reject] = decodeOne({ amount: '', memo: 'é'.repeat(70_000) }).rejects;
    expect(Buffer.byteLength(reject?.payload ?? '')).toBeLessThanOrEqual(64 * 1024);
    expect(decodePayload('transaction-list', reject?.payload ?? '', now)).toBeNull();
  });

  it('can be decoded again from the payload of its reject', () => {
    const text = JSON.stringify({ ...row, time: now + 100 * 86_400_000 }).replace('"1.50"', '1.50');
    const [reject] = decodeTransactions([parseExactJson(text)], now).rejects;
    const later = decodePayload('transaction-list', reject?.payload ?? '', now + 101 * 86_400_000);
    expect(later?.rejects).toEqual([]);
    expect(later?.records).toMatchObject([{ amount: '1.50', occurredAt: now + 100 * 86_400_000 }]);
  });
});

describe('a confirmation count', () => {
  it.each([
    ['3', 3],
    [3, 3],
    ['', null],
    [null, null],
    ['2147483647', 2_147_483_647],
  ])('%j is %j', (confirmNum, expected) => {
    const { records, rejects } = decodeTransactionDetails([{ ...row, confirmNum }], now);
    expect(records[0]?.confirmNum).toBe(expected);
    expect(rejects).toEqual([]);
  });

  it.each(['2147483648', -1, 'many', '1.5', {}])('%j is rejected', (confirmNum) => {
    const { records, rejects } = decodeTransactionDetails([{ ...row, confirmNum }], now);
    expect(records[0]?.confirmNum).toBeNull();
    expect(rejects).toMatchObject([{ field: 'confirmNum' }]);
  });
});

describe('a snapshot', () => {
  const balance = {
    name: 'Ether',
    symbol: 'ETH',
    contractAddress: null,
    chainName: 'Ethereum',
    chainSymbol: 'ETH',
    slip44: 60,
    balance: '10',
    frozen: '',
    decimal: 18,
  };

  it('of balances has an empty contract for a main coin and null where nothing is frozen', () => {
    expect(decodeBalances([balance], now)).toEqual({
      records: [
        {
          slip44: 60,
          symbol: 'ETH',
          contractAddress: '',
          name: 'Ether',
          chainName: 'Ethereum',
          chainSymbol: 'ETH',
          balance: '10',
          frozen: null,
          decimals: 18,
        },
      ],
      rejects: [],
    });
  });

  it('[V18] keeps the first of two rows with one key and rejects the second', () => {
    const rows = [
      balance,
      { ...balance, contractAddress: '', balance: '11' },
      { ...balance, slip44: 0 },
    ];
    const { records, rejects } = decodeBalances(rows, now);
    expect(records.map(({ slip44, balance }) => [slip44, balance])).toEqual([
      [60, '10'],
      [0, '10'],
    ]);
    expect(rejects).toMatchObject([{ source: 'balance-list', field: null, orderNo: null }]);
  });

  it.each([
    { slip44: null },
    { slip44: -1 },
    { slip44: 2 ** 31 },
    { slip44: 'x' },
    { symbol: '' },
    { symbol: null },
    { contractAddress: {} },
    { contractAddress: 'a\0' },
  ])('[V17] rejects the whole row without a usable key: %j', (changes) => {
    const [field] = Object.keys(changes);
    expect(decodeBalances([{ ...balance, ...changes }], now)).toMatchObject({
      records: [],
      rejects: [{ field }],
    });
    expect(decodeCoins([{ ...balance, ...changes }], now)).toMatchObject({
      records: [],
      rejects: [{ field }],
    });
  });

  it('of coins keeps a coin whose states cannot be read', () => {
    const coin = {
      symbol: 'T',
      slip44: '60',
      contractAddress: '0x1',
      decimal: 6,
      depositState: 'on',
    };
    expect(decodeCoins([coin], now)).toMatchObject({
      records: [
        {
          slip44: 60,
          contractAddress: '0x1',
          decimals: 6,
          depositState: null,
          withdrawState: null,
        },
      ],
      rejects: [{ field: 'depositState' }],
    });
  });
});

describe('an address', () => {
  it('[V14] is kept byte for byte, up to 1 kB', () => {
    const addresses = ['0xAbC', '0xabc', 'rX?memo= 1', 'a'.repeat(1024)];
    const rows = addresses.map((address) => ({ address }));
    expect(decodeAddresses(rows, now)).toEqual({ records: rows, rejects: [] });
  });

  it.each(['', null, 'a\0', 'a'.repeat(1025), {}])('%j is a reject', (address) => {
    expect(decodeAddresses([{ address }], now)).toMatchObject({ records: [], rejects: [{}] });
  });
});

describe('any decoder', () => {
  const sources: RecordSource[] = [
    'transaction-list',
    'transaction-detail',
    'address-list',
    'coin-list',
    'balance-list',
  ];
  const value = fc.oneof(
    fc.jsonValue({ noUnicodeString: false }),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('1', '1e5', '2147483648', 1_718_587_017_026, ''),
  );
  const names = fc.constantFrom(
    ...[
      ...Object.keys(row),
      'confirmNum',
      'fee',
      'address',
      'slip44',
      'contractAddress',
      'balance',
      'decimal',
      'memo',
      '__proto__',
    ],
  );
  const rows = fc.oneof(
    value,
    fc.array(fc.tuple(names, value)).map((entries): unknown => Object.fromEntries(entries)),
  );

  it('[V12] accepts any JSON: it never throws, and a row is a record or a reject', () => {
    forAllSync(fc.constantFrom(...sources), rows)(500, (source, raw) => {
      const decoded = decodePayload(source, JSON.stringify(raw), now);
      expect(decoded).not.toBeNull();
      expect((decoded?.records.length ?? 0) + (decoded?.rejects.length ?? 0)).toBeGreaterThan(0);
      const stored = (decoded?.records ?? []).flatMap((kept) => Object.values(kept) as unknown[]);
      for (const text of stored.filter((item) => typeof item === 'string')) {
        expect(text).not.toMatch(/\p{Cs}/u);
        expect(text.includes('\0')).toBe(false);
      }
    });
  });
});
