import { isIP } from 'node:net';
import { expect, test } from 'vitest';
import { isInternal, pinAddress } from '../../src/webhooks/receiver-address.ts';

test.each([
  ...['10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1', '127.0.0.1', '127.9.9.9'],
  ...['169.254.169.254', '100.64.0.1', '0.0.0.0', '224.0.0.1', '255.255.255.255', '198.18.0.1'],
  ...['::1', '::', 'fe80::1', 'fd00::1', 'fc00::1', 'ff02::1', '::ffff:10.0.0.1', '::ffff:a00:1'],
  ...['64:ff9b::a00:1', '2002:a00:1::1', '2001::1', '2001:db8::1'],
])('[S19] %s is not an address of the public internet', (address) => {
  expect(isInternal({ address, family: isIP(address) })).toBe(true);
});

test.each([
  '8.8.8.8',
  '172.32.0.1',
  '100.128.0.1',
  '169.253.0.1',
  '2606:4700::1111',
  '2a00:1450::1',
])('%s is an address of the public internet', (address) => {
  expect(isInternal({ address, family: isIP(address) })).toBe(false);
});

test('[S19] one internal address among several is enough to refuse a name, and localhost resolves to loopback only', async () => {
  const pin = (host: string, ...addresses: string[]) =>
    pinAddress(new URL(`https://${host}/`), false, async () =>
      addresses.map((address) => ({ address, family: isIP(address) })),
    );
  await expect(pin('hooks.example.com', '8.8.8.8', '10.0.0.1')).rejects.toThrow('private network');
  await expect(pin('localhost', '10.0.0.1')).rejects.toThrow('private network');
  expect(await pin('localhost', '127.0.0.1', '::1')).toBeTypeOf('function');
  expect(await pin('hooks.example.com', '8.8.8.8')).toBeTypeOf('function');
  // The operator configured this address.
  expect(await pin('10.0.0.1')).toBeTypeOf('function');
});
