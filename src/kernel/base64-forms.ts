/**
 * The base64 characters that the secret alone decides, for each of the three places at which it can begin within a
 * longer encoded text, and where it ends the text. Of a very short secret they would take ordinary words along.
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
