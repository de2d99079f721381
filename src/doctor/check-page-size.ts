import { badFinding, type Finding, okFinding, warningFinding } from './finding.ts';
import type { SizeProbe } from './read-samples.ts';

/** Compares the largest page that the service sends with WALLET_PAGE_SIZE. */
export function checkPageSize(probes: readonly SizeProbe[], setting: number): Finding {
  const name = 'page-size';
  const served = probes.flatMap((probe) =>
    'got' in probe ? [Math.min(probe.got, probe.asked)] : [],
  );
  const largest = Math.max(0, ...served);
  const [limit] = probes.flatMap(limitOf);
  if (largest === 0)
    return badFinding(
      name,
      limit ?? 'no page size was accepted',
      'correct the problems that the other checks report',
    );
  const seen = `pages of ${largest} rows are sent${limit ? `; ${limit}` : ''}; WALLET_PAGE_SIZE=${setting}`;
  // The limit is between the last accepted size and the first refused one, so a setting between the two is not
  // reported.
  const refusedAt = probes.find((probe) => 'refused' in probe)?.asked ?? Number.POSITIVE_INFINITY;
  const cutTo = probes.find((probe) => 'got' in probe && probe.got < probe.asked) ? largest : null;
  if (setting >= refusedAt || (cutTo !== null && setting > cutTo)) {
    return warningFinding(name, seen, `set WALLET_PAGE_SIZE=${largest}`);
  }
  return okFinding(name, seen);
}

function limitOf(probe: SizeProbe): string[] {
  if ('refused' in probe) return [`${probe.asked} is refused (${probe.refused})`];
  return probe.got < probe.asked ? [`${probe.asked} is cut to ${probe.got}`] : [];
}
