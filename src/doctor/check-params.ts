import type { ParamNames } from '../kernel/vocabulary.ts';
import { badFinding, type Finding, okFinding, warningFinding } from './finding.ts';
import { type ListSample, sampleSizes, type TransactionPage } from './read-samples.ts';

const cure = "set WALLET_PARAM_NAMES to the service's names for the query parameters";

function wrongName(name: string, seen: string): Finding {
  return { ...badFinding(name, seen, cure), error: 'settings' };
}

/** Checks that the service knows the names of WALLET_PARAM_NAMES; it ignores unknown parameters. */
export function checkParams(samples: readonly ListSample[], names: ParamNames): Finding[] {
  return [
    checkPageName(samples, names.page),
    checkSizeName(samples, names.size),
    checkTypeName(samples, names.type),
  ];
}

function checkPageName(samples: readonly ListSample[], page: string): Finding {
  const name = 'param-page';
  const stuck = samples.find(({ first, second }) => isSamePage(first, second));
  if (stuck) {
    const echo = stuck.second.pageNo;
    const said = echo === null ? '' : `, and the answer says page ${echo}`;
    return wrongName(name, `with ${page}=2 the service sent page 1 again${said}`);
  }
  if (samples.some(isCountedFromZero)) {
    const operator = 'ask the operator of the service: pages are to be numbered from 1';
    return badFinding(name, `${page}=0 shows rows that come before those of ${page}=1`, operator);
  }
  const wrongEcho = samples.find(({ second }) => second.pageNo !== null && second.pageNo !== 2);
  if (wrongEcho && wrongEcho.second.listed > 0) {
    return wrongName(name, `with ${page}=2 the answer says page ${wrongEcho.second.pageNo}`);
  }
  if (!samples.some(({ second }) => second.listed > 0)) {
    return tooFewRows(name);
  }
  return okFinding(name, `${page} is honoured: page 2 has other rows than page 1`);
}

function isSamePage(first: TransactionPage, second: TransactionPage): boolean {
  const [before, after] = [first, second].map(({ records }) => records.map((row) => row.orderNo));
  return first.listed > 0 && String(before) === String(after);
}

/** Returns true if page 0 shows none of the rows of pages 1 and 2, so that it is a page before page 1. */
function isCountedFromZero({ first, second, zero }: ListSample): boolean {
  const later = new Set(
    [first, second].flatMap(({ records }) => records.map((row) => row.orderNo)),
  );
  const rows = zero?.records ?? [];
  return rows.length > 0 && rows.every(({ orderNo }) => !later.has(orderNo));
}

function checkSizeName(samples: readonly ListSample[], size: string): Finding {
  const name = 'param-size';
  const informative = samples.filter(({ wide }) => wide.listed > sampleSizes.small);
  if (informative.length === 0) {
    return tooFewRows(name);
  }
  const unaffected = informative.find(
    ({ first, wide }) => first.listed > sampleSizes.small && first.pageSize === wide.pageSize,
  );
  if (!unaffected) return okFinding(name, `${size} is honoured`);
  const { small, larger } = sampleSizes;
  const seen = `with ${size}=${small} and with ${size}=${larger} the service sent pages of ${unaffected.first.pageSize} rows`;
  return wrongName(name, seen);
}

function checkTypeName(samples: readonly ListSample[], type: string): Finding {
  const name = 'param-type';
  for (const { type: asked, wide } of samples) {
    const other = wide.records.find(
      (row) => row.type !== null && row.type.trim().toLowerCase() !== asked,
    );
    if (other) return wrongName(name, `with ${type}=${asked} the service sent a ${other.type}`);
  }
  if (samples.every(({ wide }) => wide.records.length === 0)) return tooFewRows(name);
  const [orders, ...others] = samples.map(({ wide }) => wide.records.map((row) => row.orderNo));
  if (others.some((other) => String(other) === String(orders)))
    return wrongName(name, `with each ${type} the service sent the same rows`);
  const empty = samples.find(({ wide }) => wide.listed === 0);
  const seen = empty
    ? `with ${type}=${empty.type} the service sent none of the other list's rows`
    : 'each list has rows of its own type';
  return okFinding(name, `${type} is honoured: ${seen}`);
}

function tooFewRows(name: string): Finding {
  const once = 'run the command again when there are more';
  return warningFinding(name, 'too few transactions for this check', once);
}
