import { createHash } from 'node:crypto';

/** Writes a name so that the format reads it as one account or one commodity; different names stay different. */
export type NameRule = (name: string) => string;

/** Remembers the latest results of a rule: the same few names occur in nearly every transaction. */
export function remembered(rule: NameRule, namesMax = 20_000): NameRule {
  const known = new Map<string, string>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    if (known.size >= namesMax) known.clear();
    const written = rule(name);
    known.set(name, written);
    return written;
  };
}

/**
 * An account in a journal of hledger or ledger. Letters of all scripts, digits, `_ . -` and single spaces between them
 * stay; every other character becomes %XX of its UTF-8 bytes. Colons part the levels; an empty level is `%`.
 */
export const journalAccount: NameRule = (name) =>
  name
    .split(':')
    .map((level) => level.replaceAll(/[^\p{L}\p{N}_.-]/gu, keepInnerSpace) || '%')
    .join(':');

/** Keeps a space only inside a level: two spaces end an account name, and those at its ends are dropped. */
function keepInnerSpace(character: string, at: number, level: string): string {
  const isInner = character === ' ' && at > 0 && at < level.length - 1;
  return isInner && level[at - 1] !== ' ' && level[at + 1] !== ' ' ? ' ' : percent(character);
}

/** A commodity in a journal of hledger or ledger: quoted, except plain words of at least two capital letters. */
export const journalCommodity: NameRule = (symbol) =>
  /^[A-Z]{2,}$/.test(symbol) ? symbol : `"${symbol.replaceAll(/[%"\\;\p{C}\p{Z}]/gu, spared)}"`;

function spared(character: string): string {
  return character === ' ' ? ' ' : percent(character);
}

/** Makes text for one line, without the characters that end a code or begin a comment. */
export function journalText(text: string): string {
  return text.replaceAll(/[%();,\p{C}\u2028\u2029]/gu, percent);
}

function percent(character: string): string {
  const bytes = [...Buffer.from(character)];
  return bytes.map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
}

/** Words that beancount reads as values. */
const reserved = new Set(['TRUE', 'FALSE', 'NULL']);

/**
 * A commodity of beancount: 2 to 24 of A-Z, 0-9, `'._-`, beginning with a letter and not ending with a mark. Any other
 * symbol becomes its letters and digits, and twelve digits of its SHA-256.
 */
export const beancountCommodity: NameRule = (symbol) => {
  const isLegal = /^[A-Z][A-Z0-9'._-]{0,22}[A-Z0-9]$/.test(symbol) && !reserved.has(symbol);
  if (isLegal) return symbol;
  const left = symbol.toUpperCase().replaceAll(/[^A-Z0-9]/g, '');
  return `X${left.slice(0, 10)}.${fingerprint(symbol).toUpperCase()}`;
};

const roots = ['Assets', 'Liabilities', 'Equity', 'Income', 'Expenses'];

/** First level of each role's account, for charts whose names begin with other words. */
const rootOfRole: Record<string, string> = {
  custody: 'Assets',
  customers: 'Liabilities',
  withdrawn: 'Equity',
  fees: 'Expenses',
};

/**
 * Accounts of beancount for a chart of accounts (role and name of each). The levels of the chart's own names get a
 * capital first letter. Any other level, such as a customer's reference, stays as it is if beancount takes it.
 * Otherwise it becomes its allowed characters and twelve digits of its SHA-256.
 */
export function beancountAccounts(
  chart: Iterable<readonly [role: string, name: string]>,
): NameRule {
  const owners = [...chart].sort(([, a], [, b]) => b.length - a.length);
  return (name) => {
    const owner = owners.find(([, own]) => name === own || name.startsWith(`${own}:`));
    const [role = '', own = name] = owner ?? [];
    const levels = own.split(':').map(capitalLevel);
    const known = roots.find((root) => root === levels[0]);
    const rest = name.length > own.length ? name.slice(own.length + 1).split(':') : [];
    const inside = known === undefined ? levels : levels.slice(1);
    const all = [...inside, ...rest.map(beancountLevel)];
    return [known ?? rootOfRole[role] ?? 'Equity', ...(all.length > 0 ? all : ['All'])].join(':');
  };
}

function capitalLevel(level: string): string {
  return beancountLevel(level.replace(/^[a-z]/, (letter) => letter.toUpperCase()));
}

function beancountLevel(level: string): string {
  if (/^[A-Z0-9][A-Za-z0-9-]*$/.test(level)) return level;
  const left = level.replaceAll(/[^A-Za-z0-9-]/g, '').slice(0, 40);
  return `X${left === '' ? '' : `-${left}`}-${fingerprint(level)}`;
}

function fingerprint(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

/** A string of beancount, with its quotes. */
export function beancountString(text: string): string {
  const escaped = text.replaceAll(/["\\]/g, '\\$&').replaceAll('\n', '\\n');
  return `"${escaped.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, percent)}"`;
}
