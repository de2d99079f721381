import type { StreamStatus } from '../ledger/read-status.ts';

/** 5012 → `5,012`. */
export function countWords(count: number): string {
  return count.toLocaleString('en-US');
}

/** `service says 5,012 · ledger holds 5,012 · proven complete`, or what the proof lacks. */
export function proofWords(stream: StreamStatus): string {
  const { serviceTotal, ledgerCount } = stream;
  const says =
    serviceTotal === null ? 'service not asked yet' : `service says ${countWords(serviceTotal)}`;
  return `${says} · ledger holds ${countWords(ledgerCount)} · ${verdictWords(stream)}`;
}

function verdictWords({ serviceTotal, ledgerCount, isComplete }: StreamStatus): string {
  if (isComplete) return 'proven complete';
  if (serviceTotal === null) return 'nothing proven yet';
  if (ledgerCount < serviceTotal) return `${countWords(serviceTotal - ledgerCount)} missing`;
  if (ledgerCount > serviceTotal)
    return `${countWords(ledgerCount - serviceTotal)} more than counted`;
  return 'not proven: no complete walk yet';
}

/** Seconds as people say them: `12 s ago`, `5 min ago`, `3 h ago`, `4 days ago`; null: `never`. */
export function agoWords(seconds: number | null): string {
  if (seconds === null) return 'never';
  if (seconds < 120) return `${Math.max(0, Math.floor(seconds))} s ago`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)} h ago`;
  return `${countWords(Math.floor(seconds / 86_400))} days ago`;
}

/** From one ISO time to a later one. */
export function secondsBetween(earlier: string, later: string): number {
  return (Date.parse(later) - Date.parse(earlier)) / 1000;
}
