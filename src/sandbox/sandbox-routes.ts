import { type PageRefusal, pageObject } from './page-object.ts';
import { type Answer, refuse, succeed } from './sandbox-answer.ts';
import type { SandboxOptions } from './sandbox-options.ts';
import type { EndpointPath } from './sandbox-stats.ts';
import type { Listing, WalletWorld } from './world/wallet-world.ts';

/** Request after authentication. `totalError`: number that is added to `totalSize`. */
type RouteCall = { query: URLSearchParams; body: string; totalError: number };

export type Route = { method: 'GET' | 'POST'; answer(call: RouteCall): Answer };

const addressesMax = 200;

/** Creates the six endpoints (docs/wallet-service-api.md, section 4). */
export function createRoutes(
  world: WalletWorld,
  options: SandboxOptions,
): Record<EndpointPath, Route> {
  let requests = 0;

  function page(listing: Listing, { query, totalError }: RouteCall, lag = 0): Answer {
    const uncounted = lag - totalError;
    const result = pageObject(listing, query, options, { uncounted, shuffle: requests++ });
    return 'text' in result ? succeed(result.text) : refuse(result.refusal satisfies PageRefusal);
  }

  return {
    '/v1/wallet/address': { method: 'POST', answer: ({ body }) => generate(world, options, body) },
    '/v1/wallet/address/list': {
      method: 'GET',
      answer(call) {
        if (!options.filtersAddresses) return page(everyAddress(world, options), call);
        const slip44 = readSlip44(call.query.get(options.paramNames.chain));
        if (slip44 === null) return refuse('parameter');
        if (!world.isSupported(slip44)) return refuse('chain-unsupported');
        return page(world.addressListing(slip44), call);
      },
    },
    '/v1/transaction/list': {
      method: 'GET',
      answer(call) {
        const type = call.query.get(options.paramNames.type) || undefined;
        if (type !== undefined && type !== 'deposit' && type !== 'withdraw') {
          return refuse('parameter');
        }
        return page(world.transactionListing(type), call, options.totalLag);
      },
    },
    '/v1/transaction/info': { method: 'GET', answer: ({ query }) => detail(world, query) },
    '/v1/wallet/balance': {
      method: 'GET',
      answer(call) {
        const texts = world.balances().map((balance) => JSON.stringify(balance));
        if (!options.balancesPaged) return succeed(`[${texts.join(',')}]`);
        return page({ count: texts.length, textAt: (i) => texts[i] ?? 'null' }, call);
      },
    },
    '/v1/wallet/coin': { method: 'GET', answer: () => succeed(JSON.stringify(world.coins())) },
  };
}

/** Lists the addresses of all chains, one chain after the other. */
function everyAddress(world: WalletWorld, { supportedChains }: SandboxOptions): Listing {
  const listings = supportedChains.map((slip44) => world.addressListing(slip44));
  const count = listings.reduce((sum, listing) => sum + listing.count, 0);
  return {
    count,
    textAt(index) {
      let left = index;
      for (const listing of listings) {
        if (left < listing.count) return listing.textAt(left);
        left -= listing.count;
      }
      return 'null';
    },
  };
}

// The order number takes precedence; docs/wallet-service-api.md, section 4.4, leaves this open.
function detail(world: WalletWorld, query: URLSearchParams): Answer {
  const orderNo = query.get('orderNo');
  const requestId = query.get('requestId');
  if (!orderNo && !requestId) return refuse('parameter');
  const text = world.detailText(orderNo ? { orderNo } : { requestId: requestId ?? '' });
  return text === null ? refuse('order-unknown') : succeed(text);
}

function generate(world: WalletWorld, options: SandboxOptions, body: string): Answer {
  const asked = readGeneration(body);
  if (asked === null) return refuse('parameter');
  const { slip44, num } = asked;
  if (!options.mayAddAddresses) return refuse('may-not-add');
  if (num < 1 || num > addressesMax) return refuse('number-limit');
  if (!world.isSupported(slip44)) return refuse('chain-unsupported');
  const addresses = world.generateAddresses(slip44, num);
  return succeed(JSON.stringify(addresses.map((address) => ({ address }))));
}

function readGeneration(body: string): { slip44: number; num: number } | null {
  try {
    const { slip44, num = 1 } = JSON.parse(body) as { slip44?: unknown; num?: unknown };
    const isValid = isInteger(slip44) && slip44 >= 0 && isInteger(num);
    return isValid ? { slip44, num } : null;
  } catch {
    return null;
  }
}

function isInteger(value: unknown): value is number {
  return Number.isInteger(value);
}

function readSlip44(text: string | null): number | null {
  return text !== null && /^\d{1,10}$/.test(text) ? Number(text) : null;
}
