/** Matches code with any line breaks: names are matched as a whole, and a list may end with a comma. */
export function codePattern(code: string): RegExp {
  const tokens = code.match(/[\w$]+|[^\s\w$]/g) ?? [];
  const parts = tokens.map((token, index) => {
    const space = index === 0 ? '' : spaceBetween(tokens[index - 1] ?? '', token);
    return space + token.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  });
  const start = isWord(tokens[0]) ? '(?<![\\w$])' : '';
  const end = isWord(tokens.at(-1)) ? '(?![\\w$])' : '';
  return new RegExp(start + parts.join('') + end, 'g');
}

function spaceBetween(before: string, token: string): string {
  if (isWord(before) && isWord(token)) return '\\s+';
  return /[)\]}]/.test(token) ? '\\s*,?\\s*' : '\\s*';
}

function isWord(token = ''): boolean {
  return /[\w$]/.test(token);
}
