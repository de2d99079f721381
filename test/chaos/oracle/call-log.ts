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
const turnMs = 10;
/**
 * A pause of this length between two turns of the event loop is a stall. Requests from that time need some turns to
 * pass the proxy.
 */
const stallMs = 25;
const afterStallMs = 50;

/** `maxIn10s` counts requests that certainly arrived within `windowMs`: see `watchStalls`. */
export function createCallLog(windowMs = 10_000): CallLog {
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
  const cameAfter = watchStalls();
  const count = (at: number) => {
    times.push(cameAfter(at));
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

/**
 * Returns the moment after which a request has come that was received at `at`. While this process stands still requests
 * wait for it, and are received all at once.
 */
function watchStalls(): (at: number) => number {
  let turn = performance.now();
  let stall = { from: 0, to: 0 };
  setInterval(() => {
    const now = performance.now();
    if (now - turn > stallMs) {
      const isSame = turn - stall.to < afterStallMs;
      stall = { from: isSame ? stall.from : turn, to: now };
    }
    turn = now;
  }, turnMs).unref();
  return (at) => (at - stall.to < afterStallMs ? stall.from : at);
}
