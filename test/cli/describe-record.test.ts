import { expect, test } from 'vitest';
import type { FoundAddress } from '../../src/ledger/transactions/find-records.ts';
import { addressDoubts } from '../../src/status/describe-record.ts';

const address: FoundAddress = {
  slip44: 60,
  address: '0xa',
  status: 'foreign',
  assignedTo: null,
  assignedAt: null,
  firstDepositOrderNo: null,
  generatedBy: null,
  firstSeenAt: '2026-03-01T00:00:00.000Z',
  conflicts: [],
};

test('an address that nothing proves to be generated here is told from one that was, and was never handed out', () => {
  expect(addressDoubts(address)).toEqual([
    'the service lists it, and nothing proves that this ledger generated it',
  ]);
  expect(addressDoubts({ ...address, generatedBy: 1 })).toEqual([
    'it was never handed out, and will not be: it has a deposit, or was set aside when the database moved',
  ]);
  expect(addressDoubts({ ...address, generatedBy: 1, status: 'available' })).toEqual([]);
});
