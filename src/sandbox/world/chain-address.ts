import { purpose, seededText } from '../seeded-hash.ts';
import { base58Text, bech32Text } from './encode-address.ts';
import type { Chain } from './wallet-assets.ts';

/** Returns the wallet's deposit address number `index` on the chain. Different indices have different addresses. */
export function ownAddress(seed: number, chain: Chain, index: number): string {
  return addressText(seed + chain.slip44, purpose.ownAddress, chain, index);
}

/** Returns an address outside the wallet: a sender of deposits or a recipient of withdrawals. */
export function foreignAddress(seed: number, chain: Chain, index: number): string {
  return addressText(seed + chain.slip44, purpose.foreignAddress, chain, index);
}

const hotAddresses = new Map<Chain, string>();

/** Returns the collecting address of all wallets on the chain, which is not a deposit address. */
export function hotAddress(chain: Chain): string {
  const address = hotAddresses.get(chain) ?? foreignAddress(0, chain, 0);
  hotAddresses.set(chain, address);
  return address;
}

const hexDigits = '0123456789abcdef';
const bech32Letters = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';

/** Draws 20 bytes from the seed and encodes them in the chain's form, with a valid checksum if the form has one. */
function addressText(seed: number, purposeId: number, chain: Chain, index: number): string {
  const draw = (alphabet: string, length: number) =>
    seededText(seed, purposeId, index, alphabet, length);
  switch (chain.address.kind) {
    case 'hex':
      return `0x${draw(hexDigits, 40)}`;
    case 'bech32':
      // The letter q is version 0; 32 letters are 20 bytes.
      return bech32Text(chain.address.prefix, `q${draw(bech32Letters, 32)}`);
    case 'base58':
      return base58Text(chain.address.version, draw(hexDigits, 40));
  }
}
