/** False for text that PostgreSQL cannot hold as it is: with NUL, or with half of a surrogate pair. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && !/\p{Cs}/u.test(text);
}

/** The text with U+FFFD in the place of what PostgreSQL cannot hold. */
export function toStorableText(text: string): string {
  return isStorableText(text)
    ? text
    : text.replaceAll('\0', '\uFFFD').replace(/\p{Cs}/gu, '\uFFFD');
}
