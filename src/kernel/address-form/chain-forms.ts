import {
  base32Bytes,
  base58Bytes,
  base58checkBytes,
  bech32Words,
  bytesInWords,
  crc16,
  hasByronChecksum,
  hasCashChecksum,
  hasEip55Case,
  hasFilecoinChecksum,
  hasSs58Checksum,
} from './checksums.ts';

/**
 * Strength of a match. `proven` means a valid checksum; `plain` means valid alphabet and length, without a verified
 * checksum.
 */
export type Fit = 'proven' | 'plain';

export type ChainForm = {
  chain: string;
  /** Returns null for a text that is not an address of the chain. Addresses of its test networks are accepted. */
  read(text: string): Fit | null;
  /** Accepts a memo or tag after the address, separated by one of `:?#|,;`. */
  hasTag?: true;
};

type Read = ChainForm['read'];

const provenIf = (isRight: boolean): Fit | null => (isRight ? 'proven' : null);
const plainIf = (isRight: boolean): Fit | null => (isRight ? 'plain' : null);
const either =
  (...reads: Read[]): Read =>
  (text) => {
    for (const read of reads) {
      const fit = read(text);
      if (fit !== null) return fit;
    }
    return null;
  };

/** Accepts base58 with a checksum: one of the prefixes (hexadecimal), then 20 bytes. */
const base58With = (...prefixes: string[]): Read => {
  return (text) => {
    const bytes = base58checkBytes(text, 'bitcoin');
    if (bytes === null || bytes.length < 20) return null;
    return provenIf(prefixes.includes(hexOf(bytes.subarray(0, -20))));
  };
};

/** Accepts a segwit address (BIP 173 and 350): a version and the hash of a key or script. */
const segwit = (...prefixes: string[]): Read => {
  return (text) => {
    const read = bech32Words(text);
    if (read === null || !prefixes.includes(read.prefix)) return null;
    const [version = 99, ...program] = read.words;
    const length = bytesInWords(program) ?? 0;
    const isLength = version === 0 ? length === 20 || length === 32 : length >= 2 && length <= 40;
    return provenIf(version <= 16 && isLength && read.isM === version > 0);
  };
};

/** Accepts a bech32 text (bech32m with `isM`) of `min` to `max` bytes. */
const bech32With = (prefixes: string[], [min, max]: [number, number], isM = false): Read => {
  return (text) => {
    const read = bech32Words(text);
    if (read === null || !prefixes.includes(read.prefix) || read.isM !== isM) return null;
    const length = bytesInWords(read.words) ?? 0;
    return provenIf(length >= min && length <= max);
  };
};

const ethereum: Read = (text) => {
  const digits = /^(?:0[xX])?([0-9a-fA-F]{40})$/.exec(text)?.[1];
  if (digits === undefined) return null;
  if (digits === digits.toLowerCase() || digits === digits.toUpperCase()) return 'plain';
  return provenIf(hasEip55Case(digits));
};

const cash: Read = (text) => {
  const lower = text === text.toUpperCase() ? text.toLowerCase() : text;
  const [, named, rest = ''] =
    /^(?:(bitcoincash|bchtest|bchreg):)?([qpzry9x8gf2tvdw0s3jn54khce6mua7l]{42,112})$/.exec(
      lower,
    ) ?? [];
  const prefixes = named === undefined ? ['bitcoincash', 'bchtest', 'bchreg'] : [named];
  return provenIf(rest !== '' && prefixes.some((prefix) => hasCashChecksum(prefix, rest)));
};

const ripple: Read = (text) => {
  const bytes = base58checkBytes(text, 'xrp');
  if (bytes === null) return null;
  if (bytes.length === 21) return provenIf(bytes[0] === 0);
  return provenIf(bytes.length === 31 && ['0544', '0493'].includes(hexOf(bytes.subarray(0, 2))));
};

const stellar: Read = (text) => {
  const bytes = base32Bytes(text);
  if (bytes === null || ![35, 43].includes(bytes.length)) return null;
  const isKind = bytes[0] === (bytes.length === 35 ? 6 << 3 : 12 << 3);
  const written = (bytes.at(-1) ?? 0) * 256 + (bytes.at(-2) ?? 0);
  return provenIf(isKind && crc16(bytes.subarray(0, -2)) === written);
};

const polkadot: Read = (text) => {
  const bytes = base58Bytes(text);
  if (bytes === null || ![35, 36].includes(bytes.length)) return null;
  return provenIf(hasSs58Checksum(bytes));
};

const ton: Read = (text) => {
  if (/^0:[0-9a-fA-F]{64}$/.test(text)) return 'plain';
  if (!/^(?:[\w-]{48}|[A-Za-z0-9+/]{48})$/.test(text)) return null;
  const bytes = Buffer.from(text, 'base64');
  const written = (bytes[34] ?? 0) * 256 + (bytes[35] ?? 0);
  const isKind = [0x11, 0x51].includes((bytes[0] ?? 0) & 0x7f);
  return provenIf(isKind && crc16(bytes.subarray(0, 34)) === written);
};

const filecoin: Read = (text) => {
  if (/^[ft]0\d{1,20}$/.test(text)) return 'plain';
  const [, protocol, actor, rest = ''] =
    /^[ft](?:([123])|4(\d{1,20})f)([a-z2-7]{7,110})$/.exec(text) ?? [];
  const bytes = base32Bytes(rest.toUpperCase());
  if (bytes === null || bytes.length < 5) return null;
  // The checksum of a delegated address also covers its namespace, a variable-length number; it is not verified here.
  if (actor !== undefined) return plainIf(bytes.length <= 58);
  const length = protocol === '3' ? 52 : 24;
  return provenIf(bytes.length === length && hasFilecoinChecksum(Number(protocol), bytes));
};

const byron: Read = (text) => {
  const bytes = base58Bytes(text);
  return provenIf(bytes !== null && hasByronChecksum(bytes));
};

const matching =
  (pattern: RegExp): Read =>
  (text) =>
    plainIf(pattern.test(text));

const evm: ChainForm = { chain: 'Ethereum', read: ethereum };
const hexAccount = matching(/^0x[0-9a-fA-F]{1,64}$/);

/**
 * Address forms of the known chains, by slip44 code. The rule of a chain without a checksum is alphabet and length, no
 * narrower than the forms that services write.
 */
export const chainForms: ReadonlyMap<number, ChainForm> = new Map<number, ChainForm>([
  [
    0,
    {
      chain: 'Bitcoin',
      read: either(segwit('bc', 'tb', 'bcrt'), base58With('00', '05', '6f', 'c4')),
    },
  ],
  [
    2,
    {
      chain: 'Litecoin',
      read: either(
        segwit('ltc', 'tltc', 'rltc'),
        bech32With(['ltcmweb', 'tmweb'], [60, 70]),
        base58With('30', '32', '05', '6f', '3a', 'c4'),
      ),
    },
  ],
  [3, { chain: 'Dogecoin', read: base58With('1e', '16', '71', 'c4', '6f') }],
  [
    133,
    {
      chain: 'Zcash',
      read: either(
        base58With('1cb8', '1cbd', '1d25', '1cba'),
        bech32With(['zs', 'ztestsapling'], [43, 43]),
        bech32With(['u', 'utest', 'tex', 'textest'], [20, 180], true),
      ),
    },
  ],
  [145, { chain: 'Bitcoin Cash', read: either(cash, base58With('00', '05', '6f', 'c4')) }],
  ...[60, 61, 614, 966, 8453, 9001, 9005, 9006].map((slip44) => [slip44, evm] as const),
  [118, { chain: 'Cosmos', read: bech32With(['cosmos'], [20, 32]), hasTag: true }],
  [144, { chain: 'XRP Ledger', read: ripple, hasTag: true }],
  [148, { chain: 'Stellar', read: stellar, hasTag: true }],
  [194, { chain: 'EOS', read: matching(/^[a-z0-9.]{1,13}$/), hasTag: true }],
  [195, { chain: 'Tron', read: either(base58With('41', 'a0'), matching(/^41[0-9a-fA-F]{40}$/)) }],
  [354, { chain: 'Polkadot', read: either(polkadot, matching(/^0x[0-9a-fA-F]{64}$/)) }],
  [397, { chain: 'NEAR', read: matching(/^[a-z0-9._-]{2,64}$/) }],
  [461, { chain: 'Filecoin', read: either(filecoin, ethereum) }],
  [501, { chain: 'Solana', read: matching(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/) }],
  [607, { chain: 'TON', read: ton, hasTag: true }],
  [637, { chain: 'Aptos', read: hexAccount }],
  [784, { chain: 'Sui', read: hexAccount }],
  [1815, { chain: 'Cardano', read: either(bech32With(['addr', 'addr_test'], [29, 57]), byron) }],
]);

/**
 * Chains that share some texts although their forms differ: Bitcoin, Litecoin and Bitcoin Cash share old addresses,
 * Filecoin has those of Ethereum.
 */
const overlaps = [
  [0, 2, 145],
  [60, 461],
];

/**
 * Returns true if one text may be an address of both chains: their forms are the same or overlap, or the form of one is
 * not known here.
 */
export function maySpellAlike(one: number, other: number): boolean {
  const [read, otherRead] = [chainForms.get(one)?.read, chainForms.get(other)?.read];
  if (!read || !otherRead || read === otherRead) return true;
  return overlaps.some((chains) => {
    const reads = chains.map((slip44) => chainForms.get(slip44)?.read);
    return reads.includes(read) && reads.includes(otherRead);
  });
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
