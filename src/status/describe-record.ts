import type { FoundAddress, FoundTransaction } from '../ledger/transactions/find-records.ts';

/** Lists the facts about a transaction that are uncertain or may still change. Empty when the ledger knows of none. */
export function transactionDoubts(found: FoundTransaction): string[] {
  const { state, stream, alsoListedIn, notCompleteBecause, addresses, rejects } = found;
  const foreign = addresses.filter(({ status }) => status === 'foreign');
  return [
    ...(found.isFinal ? [] : [`the state ${state ?? '(none)'} is not final`]),
    ...(found.isListed ? [] : ['the service no longer lists it']),
    ...(alsoListedIn === null ? [] : [`the list ${alsoListedIn} shows it as well`]),
    ...(found.detailSyncedAt === null ? ['its detail has not been fetched yet'] : []),
    ...(found.detailSyncedAt !== null && found.isDetailDue
      ? ['its detail will be fetched again']
      : []),
    ...rejects.map(({ field, reason }) => `${field ?? 'the row'} could not be decoded: ${reason}`),
    ...(notCompleteBecause === null
      ? []
      : [`the list ${stream} is not proven complete: ${notCompleteBecause}`]),
    ...foreign.map(({ slip44, generatedBy }) =>
      generatedBy === null
        ? `its address on chain ${slip44} was not generated here`
        : `its address on chain ${slip44} was never handed out`,
    ),
    ...(stream === 'deposit' && found.toAddress !== null && addresses.length === 0
      ? ['its address is not in the ledger']
      : []),
  ];
}

/** Lists the facts about an address that are uncertain. */
export function addressDoubts({
  status,
  generatedBy,
  conflicts,
  assignedTo,
  assignedAt,
}: FoundAddress): string[] {
  return [
    ...(status === 'foreign' && generatedBy === null
      ? ['the service lists it, and nothing proves that this ledger generated it']
      : []),
    ...(status === 'foreign' && generatedBy !== null
      ? [
          'it was never handed out, and will not be: it has a deposit, or was set aside when the database moved',
        ]
      : []),
    ...(conflicts.length > 1
      ? [
          `it was handed out ${conflicts.length} times: ${conflicts.map((to) => to ?? 'without a reference').join(', ')}`,
        ]
      : []),
    ...(status === 'used' && assignedAt === null
      ? ['it has a deposit, and was never handed out']
      : []),
    ...(assignedAt !== null && assignedTo === null
      ? ['it was handed out without a reference']
      : []),
  ];
}
