import type { OracleCall } from './oracle-types.ts';

export type CallTotals = {
  received: number;
  accepted: number;
  /** Refused for their key or signature. */
  badSignatures: number;
  reusedNonces: number;
  badNonces: number;
  maxIn10s: number;
};

export type CallLog = {
  readonly calls: readonly OracleCall[];
  readonly totals: CallTotals;
  receive(method: string, path: string, nonce: string | null): OracleCall;
};

const keptMax = 200_000;
const windowMs = 10_000;

export function createCallLog(): CallLog {
  const calls: OracleCall[] = [];
  const totals = {
    received: 0,
    accepted: 0,
    badSignatures: 0,
    reusedNonces: 0,
    badNonces: 0,
    maxIn10s: 0,
  };
  const times: number[] = [];
  let oldest = 0;
  const count = (at: number) => {
    times.push(at);
    while ((times[oldest] ?? at) <= at - windowMs) oldest += 1;
    totals.maxIn10s = Math.max(totals.maxIn10s, times.length - oldest);
    if (oldest < keptMax) return;
    times.splice(0, oldest);
    oldest = 0;
  };
  return {
    calls,
    totals,
    receive(method, path, nonce) {
      totals.received += 1;
      count(performance.now());
      const call: OracleCall = {
        serial: totals.received,
        at: Date.now(),
        method,
        path,
        slip44: null,
        nonce,
        accepted: false,
        answer: 'unanswered',
      };
      if (calls.length >= keptMax) calls.splice(0, keptMax / 2);
      calls.push(call);
      return call;
    },
  };
}
