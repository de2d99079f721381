import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { NotANumber, parseTolerantJson } from '../../src/service/decoding/exact-json.ts';
import { integerIn } from '../../src/service/decoding/field-readers.ts';
import { forAllSync } from '../support/for-all.ts';
import { makeClient } from '../support/make-client.ts';
import { pageOf, reply, send, startScriptedService, succeed } from '../support/scripted-service.ts';

const service = await startScriptedService();
afterAll(() => service.close());

const query = { type: 'deposit', pageNo: 1, pageSize: 10 } as const;
const row = (orderNo: string) => ({ orderNo, amount: '1', symbol: 'ETH', time: 1_718_587_017_026 });
const textOf = (data: unknown) => JSON.stringify({ code: 0, msg: '', data });
const listOf = async () => await (await makeClient(service.baseUrl)).client.listTransactions(query);

/** The bytes of the answer, with each `~` as a byte that is invalid in UTF-8. */
function withBadBytes(data: unknown): Buffer {
  return Buffer.from(textOf(data)).map((byte) => (byte === 0x7e ? 0xff : byte)) as Buffer;
}

describe('bytes that are not UTF-8', () => {
  it('cost one field of one row, or the row if they are in its key, and never the page', async () => {
    const rows = [row('a'), { ...row('b'), state: 'E~TH' }, row('c~'), row('d')];
    service.answer((_seen, response) => send(response, 200, withBadBytes(pageOf(rows))));
    const page = await listOf();
    expect(page).toMatchObject({ listed: 4, totalSize: 4 });
    expect(page.records).toMatchObject([
      { orderNo: 'a', symbol: 'ETH' },
      { orderNo: 'b', state: 'E\uFFFDTH' },
      { orderNo: 'd' },
    ]);
    expect(page.rejects).toMatchObject([
      { orderNo: 'b', field: 'state', reason: expect.stringContaining('(replaced)') },
      { orderNo: null, field: 'orderNo' },
    ]);
  });

  it('never make one coin, address, hash or request of two', async () => {
    const fields = ['symbol', 'txHash', 'fromAddress', 'toAddress', 'requestId'];
    const odd = Object.fromEntries(fields.map((field) => [field, 'E~TH']));
    service.answer((_seen, response) =>
      send(response, 200, withBadBytes(pageOf([{ ...row('a'), ...odd }]))),
    );
    const { records, rejects } = await listOf();
    expect(records).toMatchObject([Object.fromEntries(fields.map((field) => [field, null]))]);
    expect(rejects.map(({ field }) => field).sort()).toEqual([...fields].sort());
    service.answer((_seen, response) =>
      send(response, 200, withBadBytes({ ...row('a'), feeSymbol: 'E~TH' })),
    );
    const { client } = await makeClient(service.baseUrl);
    expect((await client.getTransaction('a')).records).toMatchObject([{ feeSymbol: null }]);
  });

  it('cause a new request first, because they may be a transmission error', async () => {
    const bad = (_seen: unknown, response: Parameters<typeof send>[0]) =>
      send(response, 200, withBadBytes(pageOf([row('a~')])));
    service.answer(bad, bad, succeed(pageOf([row('a')])));
    expect((await listOf()).records).toMatchObject([{ orderNo: 'a' }]);
  });

  it('that persist cost one unnecessary request only once an hour', async () => {
    service.answer((_seen, response) => send(response, 200, withBadBytes(pageOf([row('a~')]))));
    let now = Date.now();
    const { client } = await makeClient(service.baseUrl, { clock: () => now });
    await client.listTransactions(query);
    const first = client.requests();
    await client.listTransactions(query);
    expect([first, client.requests() - first]).toEqual([4, 1]);
    now += 3_700_000;
    await client.listTransactions(query);
    expect(client.requests() - first).toBe(5);
  });

  it('leave an address request in doubt', async () => {
    service.answer((_seen, response) => send(response, 200, withBadBytes([{ address: '0x~' }])));
    const { client } = await makeClient(service.baseUrl);
    await expect(client.generateAddresses({ slip44: 60, num: 1 })).rejects.toMatchObject({
      code: 'service-malformed',
    });
    expect(service.seen).toHaveLength(1);
  });
});

describe('a declared charset', () => {
  const declaring = (charset: string, bytes: Buffer) => {
    const headers = { 'content-type': `application/json; charset=${charset}` };
    service.answer((_seen, response) => send(response, 200, bytes, headers));
  };
  const text = textOf(
    pageOf([
      { ...row('Ä1'), symbol: 'Ä' },
      { ...row('Ö1'), symbol: 'Ö' },
    ]),
  );

  it.each([
    ['iso-8859-1', Buffer.from(text, 'latin1')],
    ['"ISO-8859-1"', Buffer.from(text, 'latin1')],
    ['utf-16le', Buffer.from(text, 'utf16le')],
    ['UTF-8', Buffer.from(text)],
    ['iso-8859-15', Buffer.from(text)],
    ['unheard-of', Buffer.from(text)],
  ])('(%s) keeps two symbols apart', async (charset, bytes) => {
    declaring(charset, bytes);
    const { records, rejects } = await listOf();
    expect(service.seen).toHaveLength(1);
    expect(rejects).toEqual([]);
    expect(records).toMatchObject([
      { orderNo: 'Ä1', symbol: 'Ä' },
      { orderNo: 'Ö1', symbol: 'Ö' },
    ]);
  });

  it.each(['unheard-of', 'euc-kr'])(
    '(%s) that does not fit costs only the field',
    async (charset) => {
      declaring(charset, withBadBytes(pageOf([{ ...row('a'), symbol: 'E~' }, row('b')])));
      const { records, rejects } = await listOf();
      expect(records).toMatchObject([
        { orderNo: 'a', symbol: null },
        { orderNo: 'b', symbol: 'ETH' },
      ]);
      expect(rejects).toMatchObject([{ orderNo: 'a', field: 'symbol' }]);
    },
  );
});

describe('a bare NaN, Infinity or -Infinity', () => {
  it.each(['NaN', 'Infinity', '-Infinity'])(
    '(%s) costs its field, never the page',
    async (token) => {
      const text = textOf(pageOf([row('a'), { ...row('b'), amount: '@', memo: 'NaN, "@" \\' }]));
      service.answer(reply(200, text.replace('"@"', token)));
      const page = await listOf();
      expect(service.seen).toHaveLength(1);
      expect(page.records).toMatchObject([
        { orderNo: 'a', amount: '1' },
        { orderNo: 'b', amount: null, extra: JSON.stringify({ memo: 'NaN, "@" \\' }) },
      ]);
      expect(page.rejects).toMatchObject([
        { orderNo: 'b', field: 'amount', payload: expect.stringContaining(`"amount":${token}`) },
      ]);
    },
  );

  it('in a text field makes it unreadable, and in a key costs the row', async () => {
    const text = textOf(
      pageOf([
        { ...row('@'), symbol: '@' },
        { ...row('b'), symbol: '@' },
      ]),
    );
    service.answer(reply(200, text.replaceAll('"@"', 'NaN')));
    const page = await listOf();
    expect(page.records).toMatchObject([{ orderNo: 'b', symbol: null }]);
    expect(page.rejects).toMatchObject([{ field: 'orderNo' }, { field: 'symbol', orderNo: 'b' }]);
  });

  it('in the answer to an address request leaves it in doubt', async () => {
    service.answer(reply(200, '{"code":0,"data":[{"address":NaN}]}'));
    const { client } = await makeClient(service.baseUrl);
    await expect(client.generateAddresses({ slip44: 60, num: 1 })).rejects.toMatchObject({
      code: 'service-malformed',
    });
  });

  it('is found only outside strings, with any content of the strings', () => {
    const strings = fc.array(
      fc.oneof(fc.string(), fc.constantFrom('NaN', '\\', '"NaN"', '\\"-Infinity')),
    );
    const drawn = forAllSync(strings, fc.constantFrom('NaN', 'Infinity', '-Infinity'));
    drawn(100, (texts, token) => {
      const written = texts.map((text) => JSON.stringify(text));
      const parsed = parseTolerantJson(`[${[...written, token].join(' , ')}]`) as unknown[];
      expect(parsed.slice(0, -1)).toEqual(texts);
      expect(parsed.at(-1)).toEqual(new NotANumber(token));
    });
  });
});

describe('a list without rows', () => {
  const nothing = { listed: 0, records: [], rejects: [] };
  it.each<[string, unknown, number, object]>([
    ['null with the total 0', { list: null, totalSize: 0 }, 1, { totalSize: 0 }],
    ['missing with the total 0', { totalSize: '0' }, 1, { totalSize: 0 }],
    ['{} with the total 0', { list: {}, totalSize: 0 }, 1, { totalSize: 0 }],
    ['"" with the total 0', { list: '', totalSize: 0 }, 1, { totalSize: 0 }],
    ['null beyond the total', { list: null, totalSize: 20, pageSize: 10 }, 3, { totalSize: 20 }],
    ['missing beyond the total', { totalSize: 15 }, 3, { totalSize: 15 }],
  ])('(%s) is empty at once', async (_what, data, pageNo, expected) => {
    service.answer(succeed(data));
    const { client } = await makeClient(service.baseUrl);
    const page = await client.listTransactions({ ...query, pageNo });
    expect(page).toMatchObject({ ...nothing, ...expected });
    expect(service.seen).toHaveLength(1);
  });

  it.each<[string, unknown, number, number | null]>([
    ['null for the first page', null, 1, 0],
    ['[] for the first page', [], 1, 0],
    ['{} for the first page', {}, 1, 0],
    ['"" for the first page', '', 1, 0],
    ['null for a later page', null, 4, null],
    ['[] for a later page', [], 4, null],
    ['{} for a later page', {}, 4, null],
  ])('(%s in the place of the page) is empty if it is repeated', async (...given) => {
    const [_what, data, pageNo, totalSize] = given;
    service.answer(succeed(data));
    const { client } = await makeClient(service.baseUrl);
    const page = await client.listTransactions({ ...query, pageNo });
    expect(page).toMatchObject({ ...nothing, totalSize });
    expect(client.requests()).toBe(4);
    await client.listTransactions({ ...query, pageNo });
    expect(client.requests()).toBe(5);
  });

  it.each<[string, unknown]>([
    ['null below the total', { list: null, totalSize: 11 }],
    ['{} below the total', { list: {}, totalSize: 5 }],
    ['missing below the total', { totalSize: 5 }],
    ['null without a total', { list: null }],
    ['an object', { list: { 0: row('a') }, totalSize: 0 }],
    ['a number', { list: 0.5, totalSize: 0 }],
    ['another answer', 'none'],
  ])('(%s) is malformed', async (_what, data) => {
    service.answer(succeed(data));
    await expect(listOf()).rejects.toMatchObject({ code: 'service-malformed' });
  });

  it('is an empty snapshot if the answer states it, or shows nothing several times in a row', async () => {
    const { client } = await makeClient(service.baseUrl);
    const empty = { records: [], rejects: [] };
    for (const data of [
      [],
      { list: [] },
      { list: null, totalSize: 0 },
      { list: {}, totalSize: 0 },
    ]) {
      service.answer(succeed(data));
      expect(await client.listBalances()).toMatchObject({ ...empty, isListless: false });
    }
    for (const data of [null, {}, '', undefined]) {
      service.answer(succeed(data));
      expect(await client.listBalances()).toMatchObject({ ...empty, isListless: true });
    }
    for (const data of [{ list: null }, { totalSize: 5 }]) {
      service.answer(succeed(data));
      await expect(client.listBalances()).rejects.toMatchObject({ code: 'service-malformed' });
    }
  });
});

describe('an integer', () => {
  it.each<[string, number | null]>([
    ['1250', 1250],
    ['1250.0', 1250],
    ['1.25e3', 1250],
    ['"1250"', 1250],
    ['"1250.00"', 1250],
    ['"1.25E+3"', 1250],
    ['12500e-1', 1250],
    ['-0', 0],
    ['9007199254740991', 9_007_199_254_740_991],
    ['9007199254740993', null],
    ['1250.5', null],
    ['1.2505e3', null],
    ['-1250.0', null],
    ['1e400', null],
    ['null', null],
    ['""', null],
    ['" 1250"', null],
    ['true', null],
  ])('written as %s is the total %j', async (written, total) => {
    const text = textOf(pageOf([], { totalSize: '@', pageNo: '@', pageSize: '@' }));
    service.answer(reply(200, text.replaceAll('"@"', written)));
    const page = await listOf();
    expect(page).toMatchObject({ totalSize: total, pageNo: total, pageSize: total || 0 });
  });

  it.each(['0', '0.0', '"0"', '"0.0"', '0e5', '-0'])(
    '%s is the code of a success',
    async (code) => {
      const text = textOf([{ address: '0x1' }]).replace('"code":0', `"code":${code}`);
      service.answer(reply(200, text));
      const { client } = await makeClient(service.baseUrl);
      const { records } = await client.generateAddresses({ slip44: 60, num: 1 });
      expect(records).toEqual([{ address: '0x1' }]);
    },
  );

  it('is a number without a fraction, in any notation', () => {
    forAllSync(fc.maxSafeInteger(), fc.nat(8))(100, (value, zeros) => {
      const [min, max] = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
      expect(integerIn(`${value}.${'0'.repeat(zeros + 1)}`, min, max)).toBe(value + 0);
      expect(integerIn(`${value}${'0'.repeat(zeros)}e-${zeros}`, min, max)).toBe(value + 0);
      expect(integerIn(`${value}.${'0'.repeat(zeros)}1`, min, max)).toBe(null);
    });
  });
});
