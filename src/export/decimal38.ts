const scale = 18;
const limit = 10n ** 38n;

/** Returns the amount times 10^18 where DECIMAL(38,18) holds it to the last digit, else null. */
export function decimal38(amount: string): bigint | null {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d*))?$/.exec(amount) ?? [];
  const digits = fraction.replace(/0+$/, '');
  if (whole === '' || digits.length > scale || whole.length > 38) return null;
  const size = BigInt(whole + digits.padEnd(scale, '0'));
  if (size >= limit) return null;
  return sign === '' ? size : -size;
}

/** Sixteen bytes in two's complement, highest first, as Parquet stores a decimal. */
export function decimalBytes(scaled: bigint): Uint8Array {
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  view.setBigInt64(0, scaled >> 64n);
  view.setBigUint64(8, BigInt.asUintN(64, scaled));
  return bytes;
}
