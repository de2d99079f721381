import { LedgerError } from '../../kernel/errors.ts';
import type { AddressRecord } from '../../kernel/wallet-records.ts';
import {
  checkNewAddresses,
  observationsOf,
  setSharedAside,
  storeListedAddresses,
} from '../../ledger/addresses/address-store.ts';
import { readChainFilter } from '../../ledger/addresses/pool-store.ts';
import { judgeStored } from '../../ledger/addresses/refused-addresses.ts';
import type { LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import { noticeForeign } from '../../ledger/home-store.ts';
import {
  dropOldSpellings,
  unseenAddresses,
  withholdUnlisted,
} from '../../ledger/lists/scan-notes-store.ts';
import type { ListVerdict } from '../list/read-list.ts';
import { assignBriefly } from '../snapshots/assign-briefly.ts';
import type { Stream } from '../streams/stream.ts';
import { type SyncOptions, syncStream } from '../streams/sync-stream.ts';
import { addCounts, emptyReport, type SyncContext, type SyncReport } from '../sync-context.ts';

/**
 * Runs one pass over the address lists of the configured chains (docs/wallet-service-api.md, section 4.2). If the
 * service fails to give one list, the others are still read, and its error is thrown after them.
 */
export async function syncAddresses(context: SyncContext, pass: SyncOptions): Promise<SyncReport> {
  const report = emptyReport();
  const failures: unknown[] = [];
  for (const slip44 of context.settings.chains) {
    try {
      const one = await syncAddressList(context, slip44, pass);
      if (!one) continue;
      addCounts(report, one);
      report.isComplete &&= one.isComplete;
    } catch (error) {
      if (!isOfChain(error)) throw error;
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return report;
}

function isOfChain(error: unknown): boolean {
  return error instanceof LedgerError && chainFailures.has(error.code);
}

/**
 * Failures that may concern one list only: a service may answer with any of them for a chain that it no longer
 * supports.
 */
const chainFailures = new Set<string>([
  'service-unreachable',
  'service-refused',
  'service-unsettled',
  'service-malformed',
]);

/** Runs one pass over one chain's list; returns undefined if another process has it and the pass should not wait. */
export async function syncAddressList(
  context: SyncContext,
  slip44: number,
  pass: SyncOptions,
): Promise<(SyncReport & ListVerdict) | undefined> {
  const verdict = await syncStream(context, addressStream(context, slip44), pass);
  await checkNewAddresses(context.ledger.db);
  await assignBriefly(context, pass.signal);
  await judgeStored(context.ledger);
  if (verdict && verdict.rowsInserted > 0) await setAside(context, slip44);
  if (context.settings.isPoolExclusive) await noticeForeign(context.ledger.db, slip44);
  return verdict;
}

async function setAside({ ledger, log }: SyncContext, slip44: number): Promise<void> {
  const addresses = await setSharedAside(ledger.db);
  if (addresses > 0)
    log.warn(
      { slip44, addresses },
      'available addresses were set aside: another program generated them on this chain',
    );
}

async function withhold({ log }: SyncContext, db: LedgerDb, slip44: number): Promise<void> {
  const { withheld, givenBack } = await withholdUnlisted(db, slip44);
  if (withheld > 0)
    log.warn(
      { slip44, addresses: withheld },
      "available addresses are withheld: the service's list no longer shows them",
    );
  if (givenBack > 0)
    log.info({ slip44, addresses: givenBack }, 'the list shows withheld addresses again');
}

export function addressStreamName(slip44: number): string {
  return `addresses:${slip44}`;
}

export function addressStream(context: SyncContext, slip44: number): Stream<AddressRecord> {
  return {
    name: addressStreamName(slip44),
    hasRanks: false,
    rejectSource: 'address-list',
    readPage: (pageNo, pageSize, signal, failuresMax, isKnownEmpty) =>
      context.client.listAddresses({ slip44, pageNo, pageSize, failuresMax, isKnownEmpty }, signal),
    keyOf: (record) => record.address,
    timeOf: () => null,
    unseen: async (db, limit) => {
      await dropOldSpellings(db, slip44);
      return await unseenAddresses(db, slip44, limit);
    },
    afterWholeScan: (db) => withhold(context, db, slip44),
    prepareRows: (rows) => async (db) => {
      const addresses = rows.map((row) => row.address);
      const filter = await readChainFilter(db, slip44, context.settings.chainParam);
      const { inserted } = await storeListedAddresses(db, slip44, addresses, {
        isChainShown: filter === 'works',
        observations: observationsOf(rows),
      });
      return { inserted, updated: 0, hasOpenRejects: false };
    },
    toReject: ({ observation, ...record }, reason) => ({
      source: 'address-list',
      orderNo: null,
      field: 'address',
      reason,
      payload: JSON.stringify(record),
    }),
  };
}
