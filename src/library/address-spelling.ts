const prefix = /^(?:bitcoincash|bchtest|bchreg|ecash|ectest|simpleledger|slptest|etoken):/i;
const hex = /^(?:0x)?([\da-f]+)$/i;

/**
 * Returns one key for all spellings of an address, as `ledger.address_key` does, which a consumer's role may not call.
 */
export function addressKey(address: string): string {
  const bare = address.trim().replace(prefix, '');
  const digits = hex.exec(bare)?.[1];
  if (digits !== undefined) return digits.toLowerCase();
  const [lower, upper] = [bare.toLowerCase(), bare.toUpperCase()];
  return lower !== bare && upper !== bare ? bare : lower;
}
