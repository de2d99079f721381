/**
 * Returns the base64 characters that the secret alone determines, in base64 and base64url. Covers the three offsets
 * within a longer encoded text, and a secret at its end. Forms of fewer than 6 characters are left out, because they
 * would match ordinary words.
 */
export function base64Forms(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const padded = Buffer.concat([Buffer.alloc(offset), bytes]);
    const first = Math.ceil((offset * 8) / 6);
    const end = Math.floor((padded.length * 8) / 6);
    return (['base64', 'base64url'] as const)
      .map((encoding) => padded.toString(encoding))
      .flatMap((encoded) => [encoded.slice(first), encoded.slice(first, end)])
      .filter((form) => form.length >= 6);
  });
}
