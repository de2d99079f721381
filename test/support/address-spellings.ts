import { blake2b } from '@noble/hashes/blake2.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { base32nopad, base58, base58xrp, bech32m, createBase58check } from '@scure/base';
import fc from 'fast-check';

/** Spellings of one address of a chain. */
export type Spellings = { slip44: number; spellings: string[] };

const base58check = createBase58check(sha256);
const payload = (length: number) =>
  fc.noBias(fc.uint8Array({ minLength: length, maxLength: length }));
const bytes = (...parts: (number | Uint8Array)[]) =>
  new Uint8Array(parts.flatMap((part) => (typeof part === 'number' ? [part] : [...part])));
const hexOf = (data: Uint8Array) => Buffer.from(data).toString('hex');

/** Some payloads begin with zeros, like short numbers. */
const number32 = fc
  .tuple(payload(32), fc.integer({ min: 0, max: 20 }), fc.boolean())
  .map(([data, zeros, isShort]) => (isShort ? data.fill(0, 0, zeros) : data));

const tron = payload(20).map((hash): Spellings => {
  const hex = hexOf(bytes(0x41, hash));
  return {
    slip44: 195,
    spellings: [base58check.encode(bytes(0x41, hash)), hex, hex.toUpperCase(), `0x${hex}`],
  };
});

const cashAlphabet = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';

function cashText(prefix: string, version: number, hash: Uint8Array): string {
  const bits = [...bytes(version, hash)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const words = (bits.match(/.{1,5}/g) ?? []).map((part) =>
    Number.parseInt(part.padEnd(5, '0'), 2),
  );
  let sum = 1n;
  const generator = [0x98f2bc8e61n, 0x79b76d99e2n, 0xf33e5fb3c4n, 0xae2eabe2a8n, 0x1e4f43e470n];
  for (const word of [
    ...[...prefix].map((letter) => letter.charCodeAt(0) & 31),
    0,
    ...words,
    ...new Array<number>(8).fill(0),
  ]) {
    const top = Number(sum >> 35n);
    sum = ((sum & 0x07ffffffffn) << 5n) ^ BigInt(word);
    for (const [bit, value] of generator.entries()) if ((top >> bit) & 1) sum ^= value;
  }
  sum ^= 1n;
  const check = Array.from({ length: 8 }, (_, place) =>
    Number((sum >> BigInt(35 - 5 * place)) & 31n),
  );
  return [...words, ...check].map((word) => cashAlphabet[word]).join('');
}

const cash = fc
  .tuple(payload(20), fc.boolean(), fc.boolean())
  .map(([hash, isScript, isTest]): Spellings => {
    const kind = isScript ? 1 : 0;
    const texts = (isTest ? ['bchtest', 'bchreg'] : ['bitcoincash']).flatMap((prefix) =>
      [kind, kind + 2].flatMap((type) => {
        const text = cashText(prefix, type << 3, hash);
        return [text, `${prefix}:${text}`, `${prefix}:${text}`.toUpperCase(), text.toUpperCase()];
      }),
    );
    const version = isScript ? (isTest ? 0xc4 : 0x05) : isTest ? 0x6f : 0;
    return { slip44: 145, spellings: [base58check.encode(bytes(version, hash)), ...texts] };
  });

const cashScript32 = payload(32).map((hash): Spellings => {
  const texts = [0x0b, 0x1b].map((version) => cashText('bitcoincash', version, hash));
  return { slip44: 145, spellings: texts.flatMap((text) => [text, `bitcoincash:${text}`]) };
});

function tonText(tag: number, workchain: number, hash: Uint8Array): string[] {
  const data = bytes(tag, workchain & 0xff, hash);
  let sum = 0;
  for (const byte of [...data, 0, 0]) {
    for (let bit = 7; bit >= 0; bit -= 1) {
      sum = (sum << 1) | ((byte >> bit) & 1);
      if (sum > 0xffff) sum = (sum & 0xffff) ^ 0x1021;
    }
  }
  const text = Buffer.from(bytes(data, sum >> 8, sum & 0xff));
  return [text.toString('base64'), text.toString('base64url')];
}

const ton = fc.tuple(payload(32), fc.constantFrom(0, -1)).map(([hash, workchain]): Spellings => {
  const friendly = [0x11, 0x51, 0x91, 0xd1].flatMap((tag) => tonText(tag, workchain, hash));
  const raw = `${workchain}:${hexOf(hash)}`;
  return { slip44: 607, spellings: [...friendly, raw, raw.toUpperCase()] };
});

const account = fc.tuple(number32, fc.constantFrom(637, 784)).map(([id, slip44]): Spellings => {
  const hex = hexOf(id);
  const short = hex.replace(/^0+/, '') || '0';
  return {
    slip44,
    spellings: [`0x${hex}`, `0x${hex.toUpperCase()}`, `0x${short}`, `0x${short.padStart(63, '0')}`],
  };
});

const polkadot = number32.map((key): Spellings => {
  const texts = [[0], [2], [42], [63], [0x40, 0], [0x50, 0x01], [0x7f, 0xff]].map((prefix) => {
    const data = bytes(...prefix, key);
    const sum = blake2b(bytes(Buffer.from('SS58PRE'), data), { dkLen: 64 });
    return base58.encode(bytes(data, sum.subarray(0, 2)));
  });
  return { slip44: 354, spellings: [...texts, `0x${hexOf(key)}`] };
});

function rippleText(data: Uint8Array): string {
  return base58xrp.encode(bytes(data, sha256(sha256(data)).subarray(0, 4)));
}

const ripple = fc
  .tuple(payload(20), fc.option(fc.integer({ min: 0, max: 0xffffffff })))
  .map(([hash, tag]): Spellings => {
    const classic = rippleText(bytes(0, hash));
    const little = Buffer.alloc(8);
    little.writeUInt32LE(tag ?? 0);
    const texts = [
      [5, 0x44],
      [4, 0x93],
    ].map((prefix) => rippleText(bytes(...prefix, hash, tag === null ? 0 : 1, little)));
    const tagged = [':', '?', '#', '|', ',', ';', '?dt='].map((mark) => `${classic}${mark}${tag}`);
    return { slip44: 144, spellings: [...texts, ...(tag === null ? [classic] : tagged)] };
  });

const litecoin = fc.tuple(payload(20), fc.boolean()).map(
  ([hash, isTest]): Spellings => ({
    slip44: 2,
    spellings: (isTest ? [0x3a, 0xc4] : [0x32, 0x05]).map((version) =>
      base58check.encode(bytes(version, hash)),
    ),
  }),
);

const filecoin = payload(20).map((hash): Spellings => {
  const sum = blake2b(bytes(4, 10, hash), { dkLen: 4 });
  const text = `410f${base32nopad.encode(bytes(hash, sum)).toLowerCase()}`;
  return { slip44: 461, spellings: [`f${text}`, `t${text}`, `0x${hexOf(hash)}`] };
});

const filecoinActor = fc.bigInt({ min: 0n, max: 10n ** 18n - 1n }).map(
  (id): Spellings => ({
    slip44: 461,
    spellings: [`f0${id}`, `t0${id}`, `0xff${id.toString(16).padStart(38, '0')}`],
  }),
);

const zcash = fc.tuple(payload(20), fc.boolean()).map(
  ([hash, isTest]): Spellings => ({
    slip44: 133,
    spellings: [
      base58check.encode(bytes(...(isTest ? [0x1d, 0x25] : [0x1c, 0xb8]), hash)),
      bech32m.encode(isTest ? 'textest' : 'tex', bech32m.toWords(hash)),
    ],
  }),
);

/** An address in all spellings that its chain has. */
export const spelledAddress: fc.Arbitrary<Spellings> = fc.oneof(
  tron,
  cash,
  cashScript32,
  ton,
  account,
  polkadot,
  ripple,
  litecoin,
  filecoin,
  filecoinActor,
  zcash,
);
