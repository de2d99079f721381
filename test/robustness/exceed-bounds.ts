import { limits } from '../../src/service/limits.ts';
import type { ListingService, PageAnswer } from '../support/listing-service.ts';

type Draw = (max: number) => number;

/** An answer that exceeds a bound; null: the correct page is sent. */
type Excess = { name: string; spoil(page: PageAnswer, draw: Draw): PageAnswer };

const envelope = (data: string) => `{"code":0,"data":${data},"msg":""}`;
const whole = (page: PageAnswer, body: string | Buffer): PageAnswer => ({
  ...page,
  body,
  status: 200,
});
const row = (fields: object) => JSON.stringify({ type: 'deposit', state: 'success', ...fields });
const withRows = (page: PageAnswer, rows: string[]): PageAnswer => ({
  ...page,
  rows: [...page.rows, ...rows],
});

/** Each bound of the table of limits, exceeded by an answer to a list request, and odd answers of the largest size. */
const listExcesses: Excess[] = [
  {
    name: 'answerBytes',
    spoil: (page, draw) => whole(page, 'x'.repeat(limits.answerBytes.max + 1 + draw(20_000_000))),
  },
  {
    name: 'answerRows',
    spoil: (page) =>
      withRows(
        page,
        Array.from({ length: limits.answerRows.max + 1 }, () => '{}'),
      ),
  },
  {
    name: 'digits',
    spoil: (page) =>
      withRows(page, [
        row({ orderNo: 'odd-1', amount: '9'.repeat(limits.digitsBeforePoint.max + 1) }),
        row({ orderNo: 'odd-2', amount: `0.${'9'.repeat(limits.digitsAfterPoint.max + 1)}` }),
        row({ orderNo: 'odd-3', amount: `1e${limits.exponent.max + 1}` }),
        row({ orderNo: 'odd-4', amount: '1e130000' }),
      ]),
  },
  {
    name: 'texts',
    spoil: (page, draw) =>
      withRows(
        page,
        Array.from({ length: 50 }, (_, nth) =>
          row({
            orderNo: `odd-text-${nth}`,
            txHash: 'h'.repeat(limits.textBytes.max + draw(100_000)),
            toAddress: 'a'.repeat(limits.textBytes.max + 1),
          }),
        ),
      ),
  },
  {
    name: 'keys',
    spoil: (page) => withRows(page, [row({ orderNo: 'k'.repeat(limits.keyBytes.max + 1) })]),
  },
  {
    name: 'extra',
    spoil: (page, draw) =>
      withRows(page, [
        row({ orderNo: 'odd-extra', more: 'e'.repeat(1_000_000 + draw(3_000_000)) }),
      ]),
  },
  {
    name: 'deep',
    spoil: (page, draw) => {
      const depth = 1_000 + draw(1_000_000);
      return whole(page, envelope(`${'['.repeat(depth)}${']'.repeat(depth)}`));
    },
  },
  {
    name: 'many small values',
    spoil: (page) => whole(page, envelope(`[${'{},'.repeat(2_500_000)}{}]`)),
  },
  {
    name: 'many numbers that lose digits',
    spoil: (page) => whole(page, envelope(`[${'1.10000000000000000001,'.repeat(300_000)}1]`)),
  },
  {
    name: 'exactLength',
    spoil: (page) => whole(page, envelope(`[1.5,"${'x'.repeat(limits.answerBytes.max - 100)}"]`)),
  },
  {
    name: 'answerRejects',
    spoil: (page, draw) => {
      const count = draw(2) === 0 ? limits.answerRejects.max : limits.answerRows.max;
      return withRows(
        page,
        Array.from({ length: count - 500 }, (_, nth) => `{"orderNo":"odd-${nth}"}`),
      );
    },
  },
  {
    name: 'rejectsLength',
    spoil: (page, draw) =>
      withRows(
        page,
        Array.from({ length: 3 + draw(60) }, (_, nth) =>
          row({ orderNo: `odd-slashes-${nth}`, txHash: '\\'.repeat(limits.payloadBytes.max / 2) }),
        ),
      ),
  },
  {
    name: 'many names',
    spoil: (page, draw) => {
      const { answerNames, answerValues } = limits;
      const names = Array.from(
        { length: (draw(2) === 0 ? answerNames : answerValues).max - 1_000 },
        // Engines keep non-numeric names in a dictionary, which is far more expensive to build.
        (_, nth) => `"name-${nth}":1`,
      );
      return withRows(page, [`{${names.join(',')}}`]);
    },
  },
  {
    name: 'many values of one name',
    spoil: (page) =>
      withRows(page, [`{"more":[${Array(limits.answerValues.max / 2).fill('{"n":1}')}]}`]),
  },
  { name: 'no UTF-8', spoil: (page) => whole(page, Buffer.alloc(limits.answerBytes.max, 0xff)) },
  {
    name: 'many addresses',
    spoil: (page, draw) =>
      withRows(
        page,
        Array.from({ length: limits.answerRows.max - 500 }, (_, nth) =>
          JSON.stringify({ address: 'q'.repeat(106) + String(draw(1e6) + nth).padStart(6, '2') }),
        ),
      ),
  },
  { name: 'half an answer', spoil: (page) => whole(page, envelope('{"list":[').slice(0, -10)) },
];

/** Balances that exceed a bound. */
const balanceExcesses: { name: string; text(draw: Draw): string }[] = [
  { name: 'digits', text: () => balances(2_100, '1e130000') },
  { name: 'snapshotRows', text: () => balances(limits.snapshotRows.max + 1, '1') },
  {
    name: 'snapshotPages',
    text: (draw) =>
      `{"list":${balances(1_000, '1', draw(1e9))},"pageNo":1,"pageSize":1000,"totalSize":100000000}`,
  },
  { name: 'answerBytes', text: () => `"${'b'.repeat(limits.answerBytes.max)}"` },
];

function balances(count: number, balance: string, first = 0): string {
  const rows = Array.from({ length: count }, (_, nth) => ({
    slip44: 60,
    symbol: `C${first + nth}`,
    balance,
    frozen: '0',
  }));
  return JSON.stringify(rows);
}

/** Spoils a share of the service's answers, with a random bound each. Returns how often each was exceeded. */
export function exceedBounds(
  service: ListingService,
  random: () => number,
  share: number,
): Map<string, number> {
  const count = new Map<string, number>();
  const draw: Draw = (max) => Math.floor(random() * max);
  const note = (name: string) => count.set(name, (count.get(name) ?? 0) + 1);
  service.twist = (page) => {
    const excess = listExcesses[draw(listExcesses.length)];
    if (random() >= share || !excess) return page;
    note(excess.name);
    return excess.spoil(page, draw);
  };
  Object.defineProperty(service.snapshots, 'balance', {
    configurable: true,
    get() {
      const excess = balanceExcesses[draw(balanceExcesses.length)];
      if (random() >= share || !excess) return balances(3, '1');
      note(`balances: ${excess.name}`);
      return excess.text(draw);
    },
  });
  return count;
}
