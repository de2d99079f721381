import { lookup } from 'node:dns/promises';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** An address of a receiver, and its family: 4 or 6. */
type ReceiverAddress = { address: string; family: number };
/** Resolves a host name to all its addresses. */
export type Resolve = (host: string) => Promise<ReceiverAddress[]>;

/** Networks that are not on the public internet: private, link-local, loopback, reserved, and tunnels into them. */
const internal = new BlockList();
const networks: [string, number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
];
for (const [network, prefix] of networks) internal.addSubnet(network, prefix, 'ipv4');
/**
 * Only global unicast addresses of IPv6 are public, without the ranges for protocols (Teredo included), documentation
 * and 6to4.
 */
const globalUnicast = new BlockList();
globalUnicast.addSubnet('2000::', 3, 'ipv6');
for (const [network, prefix] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  internal.addSubnet(network, prefix, 'ipv6');

/** Returns true if the address is not one of the public internet. */
export function isInternal({ address, family }: ReceiverAddress): boolean {
  if (family === 4) return internal.check(address, 'ipv4');
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  if (mapped !== undefined) return internal.check(mapped, 'ipv4');
  return !globalUnicast.check(address, 'ipv6') || internal.check(address, 'ipv6');
}

export const resolveAll: Resolve = (host) => lookup(host, { all: true, verbatim: true });

/**
 * Resolves the host of a receiver once, and returns the lookup for the connection: it gives these addresses and does
 * not resolve again. A name that leads to an internal address is refused unless `isPrivateAllowed`. An address that the
 * setting itself names, and `localhost`, are allowed.
 */
export async function pinAddress(
  url: URL,
  isPrivateAllowed: boolean,
  resolve: Resolve,
): Promise<LookupFunction> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const family = isIP(host);
  const addresses = family === 0 ? await resolve(host) : [{ address: host, family }];
  if (family === 0 && !isPrivateAllowed) refuseInternal(host, addresses);
  return (_host, { all }, callback) => {
    const [first] = addresses;
    if (first === undefined) callback(new Error(`${host} has no address`), '', 0);
    else if (all) callback(null, addresses);
    else callback(null, first.address, first.family);
  };
}

function refuseInternal(host: string, addresses: ReceiverAddress[]): void {
  const loopback = /^(127\.|::1$)/;
  const refused = addresses.find(
    (each) => isInternal(each) && !(host === 'localhost' && loopback.test(each.address)),
  );
  if (refused !== undefined) throw new Error('its name leads to an address of a private network');
}
