import { createHash } from 'node:crypto';
import type { RecordSource, Reject } from '../../kernel/wallet-records.ts';

/** Fields that stay the same from one answer to the next, and so identify rows without a usable key. */
const lastingFields: Record<RecordSource, string[]> = {
  'transaction-list': transactionFields(),
  'transaction-detail': transactionFields(),
  'address-list': ['address'],
  'coin-list': ['slip44', 'symbol', 'contractAddress'],
  'balance-list': ['slip44', 'symbol', 'contractAddress'],
};

/** Prefix of fingerprints that only the payload determines. */
export const payloadPrefix = 'payload:';

/**
 * Returns the fingerprint of a reject's cause: order and field if the row has an order number, otherwise its lasting
 * fields. A row without these is identified by its whole payload. Migration 0013 computes the first form in SQL.
 */
export function fingerprintOf(reject: Reject): string {
  const { source, orderNo, field, payload } = reject;
  if (orderNo !== null) return digest([source, orderNo, field ?? '']);
  const lasting = lastingValues(source, payload);
  if (lasting) return digest([source, '', field ?? '', lasting]);
  return `${payloadPrefix}${digest([source, '', field ?? '', payload])}`;
}

function digest(parts: string[]): string {
  return createHash('sha256').update(parts.join('\x1f')).digest('hex');
}

/** Returns null if the row is no object, its payload was cut, or it has none of the fields. */
function lastingValues(source: RecordSource, payload: string): string | null {
  try {
    const row: unknown = JSON.parse(payload);
    if (typeof row !== 'object' || row === null) return null;
    const values = lastingFields[source].map((name) =>
      Object.hasOwn(row, name) ? (row as Record<string, unknown>)[name] : null,
    );
    return values.every((value) => value === null || value === '') ? null : JSON.stringify(values);
  } catch {
    return null;
  }
}

function transactionFields(): string[] {
  return ['orderNo', 'requestId', 'symbol', 'txHash', 'fromAddress', 'toAddress', 'amount', 'type'];
}
