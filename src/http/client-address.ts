import { isIPv6 } from 'node:net';

/**
 * Under which key a client's connections are counted: its IPv4 address, however it is written, or the /64 network of
 * its IPv6 address, which one client has to itself.
 */
export function clientKey(remoteAddress: string | undefined): string {
  const address = (remoteAddress ?? 'unknown').toLowerCase().replace(/%.*$/, '');
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  return isIPv6(address) ? `${networkOf(address)}::/64` : address;
}

function networkOf(address: string): string {
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const behind = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : 8 - groups.length - behind.length;
  const all = [...groups, ...Array.from({ length: Math.max(0, zeros) }, () => '0'), ...behind];
  return all
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':');
}
