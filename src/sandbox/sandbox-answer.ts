/** Answer of the service before it is sent. */
export type Answer = { status: number; text: string; headers?: Record<string, string> };

/** Refusals with the sandbox's own codes: docs/wallet-service-api.md, section 7, shows none. */
const refusals = {
  'missing-headers': { code: 10001, status: 401, msg: 'authentication headers are missing' },
  'unknown-key': { code: 10002, status: 401, msg: 'unknown api key' },
  signature: { code: 10003, status: 401, msg: 'wrong signature' },
  nonce: { code: 10004, status: 401, msg: 'nonce was used already, or is no number' },
  parameter: { code: 20001, status: 200, msg: 'parameter missing or invalid' },
  'page-size': { code: 20002, status: 200, msg: 'page size too large' },
  'page-beyond-end': { code: 20003, status: 200, msg: 'no such page' },
  'may-not-add': { code: 30001, status: 200, msg: 'not allowed to add addresses' },
  'number-limit': { code: 30002, status: 200, msg: 'number of addresses out of limit' },
  'chain-unsupported': { code: 30003, status: 200, msg: 'chain not supported' },
  'order-unknown': { code: 40001, status: 200, msg: 'transaction not found' },
  'path-unknown': { code: 40400, status: 404, msg: 'no such path' },
  'too-many-requests': { code: 42900, status: 429, msg: 'too many requests' },
  busy: { code: 50001, status: 200, msg: 'system busy, try again later' },
  internal: { code: 50000, status: 500, msg: 'internal error' },
} as const;

export type Refusal = keyof typeof refusals;

export function refuse(refusal: Refusal): Answer {
  const { code, status, msg } = refusals[refusal];
  const text = JSON.stringify({ code, data: null, msg });
  return status === 429 ? { status, text, headers: { 'retry-after': '1' } } : { status, text };
}

/** Returns a successful answer with `data` as JSON text. */
export function succeed(data: string): Answer {
  return { status: 200, text: `{"code":0,"data":${data},"msg":"success"}` };
}
