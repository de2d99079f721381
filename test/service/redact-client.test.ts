import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Reject } from '../../src/kernel/wallet-records.ts';
import { limits } from '../../src/service/limits.ts';
import { redactClient } from '../../src/service/redact-client.ts';
import type { WalletClient } from '../../src/service/wallet-client.ts';

const rejectOf = (payload: string, field: string): Reject => ({
  source: 'transaction-list',
  orderNo: null,
  field,
  reason: `${field} is secret`,
  payload,
});

test('the maximum number of rejects is redacted in slices, and a row that several rejects share only once', async () => {
  const rows = limits.rejectsLength.max / limits.payloadBytes.max;
  const rejects = Array.from({ length: rows }, (_, nth) => `${nth} secret`.padEnd(65_536)).flatMap(
    (payload) => ['amount', 'time'].map((field) => rejectOf(payload, field)),
  );
  const perTurn = new Map<number, number>();
  const progress = { turn: 0, texts: 0, isDone: false };
  const client = redactClient(
    { listTransactions: async () => ({ records: [], rejects }) } as unknown as WalletClient,
    (text) => {
      progress.texts += 1;
      perTurn.set(progress.turn, (perTurn.get(progress.turn) ?? 0) + text.length);
      return text.replace('secret', '…');
    },
  );
  const turning = (async () => {
    for (; !progress.isDone; progress.turn += 1) await nextTurn();
  })();
  const page = await client.listTransactions({ type: 'deposit', pageNo: 1, pageSize: 10 });
  progress.isDone = true;
  await turning;
  expect(page.rejects).toHaveLength(rejects.length);
  expect(JSON.stringify(page.rejects)).not.toContain('secret');
  expect(progress.texts).toBe(rows + rejects.length);
  expect(Math.max(...perTurn.values())).toBeLessThan(256 * 1024);
});
