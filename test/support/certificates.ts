import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

export type Authority = { name: string; privateKey: KeyObject; pem: string };
export type Certificate = { cert: string; key: string };

type Wish = { issuer: Authority | null; name: string; host?: string; from: Date; to: Date };

const sha256WithEcdsa = sequence(oid('2a8648ce3d040302'));

/** A certificate authority of the test's own. */
export function makeAuthority(name: string): Authority {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const wish = { issuer: null, name, from: daysFromNow(-30), to: daysFromNow(30) };
  return { name, privateKey, pem: certificateOf(wish, publicKey, privateKey) };
}

/** A certificate for an address of the loopback; self-signed if there is no issuer. */
export function makeCertificate(wish: Wish): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    cert: certificateOf(wish, publicKey, wish.issuer?.privateKey ?? privateKey),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

export function daysFromNow(days: number): Date {
  return new Date(Date.now() + days * 86_400_000);
}

/** RFC 5280, 4.1. */
function certificateOf(wish: Wish, publicKey: KeyObject, signingKey: KeyObject): string {
  const isAuthority = wish.issuer === null && wish.host === undefined;
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    sha256WithEcdsa,
    nameOf(wish.issuer?.name ?? wish.name),
    sequence(time(wish.from), time(wish.to)),
    nameOf(wish.name),
    publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, sequence(...extensions(isAuthority, wish.host, publicKey))),
  );
  const signature = sign('sha256', body, signingKey);
  const der = sequence(body, sha256WithEcdsa, bits(signature));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

function extensions(
  isAuthority: boolean,
  host: string | undefined,
  publicKey: KeyObject,
): Buffer[] {
  const keyId = createHash('sha1')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest();
  const basic = isAuthority ? sequence(tagged(0x01, Buffer.from([0xff]))) : sequence();
  const all = [
    sequence(oid('551d13'), octets(basic)),
    sequence(oid('551d0e'), octets(octets(keyId))),
  ];
  if (host === undefined) return all;
  const address = tagged(0x87, Buffer.from(host.split('.').map(Number)));
  return [...all, sequence(oid('551d11'), octets(sequence(address)))];
}

function nameOf(common: string): Buffer {
  return sequence(tagged(0x31, sequence(oid('550403'), tagged(0x0c, Buffer.from(common)))));
}

function time(date: Date): Buffer {
  return tagged(0x18, Buffer.from(`${date.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`));
}

function sequence(...parts: Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

function explicit(tag: number, content: Buffer): Buffer {
  return tagged(0xa0 + tag, content);
}

function integer(value: Buffer): Buffer {
  return tagged(0x02, value);
}

function octets(content: Buffer): Buffer {
  return tagged(0x04, content);
}

function bits(content: Buffer): Buffer {
  return tagged(0x03, Buffer.concat([Buffer.from([0]), content]));
}

function oid(hex: string): Buffer {
  return tagged(0x06, Buffer.from(hex, 'hex'));
}

function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content;
  if (length < 128) return Buffer.concat([Buffer.from([tag, length]), content]);
  const size = length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
