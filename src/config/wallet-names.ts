import { parsedOrThrown } from './setting-parsers.ts';

/** Name of the only wallet if WALLETS is not set. */
export const walletNameDefault = 'main';

const namesMax = 100;
const lettersMax = 32;

/** Matches the settings that each wallet may have of its own; the only place that defines them. */
const perWallet = /^(?:WALLET_|POOL_|ADDRESS_POOLS$)/;

/** Returns true if `NAME__SETTING` can set the setting for one wallet. */
export function isPerWallet(setting: string): boolean {
  return perWallet.test(setting);
}

/** Returns the prefix of a wallet's own variables: `EU__` for `eu`. */
export function prefixOf(wallet: string): string {
  return `${wallet.toUpperCase()}__`;
}

/** Parses `eu,us`. A mistake names the position: a name that is not valid may be a secret in the wrong place. */
export const walletNames = parsedOrThrown((text): readonly string[] => {
  const names = namesIn(text);
  const mistakes = [
    ...(names.length > namesMax ? [`at most ${namesMax} names`] : []),
    ...names.flatMap((name, index) => {
      const mistake = mistakeOf(name) ?? repetitionOf(name, names.indexOf(name), index);
      return mistake === null ? [] : [`name ${index + 1} ${mistake}`];
    }),
  ];
  if (mistakes.length > 0)
    throw new Error(`names with commas between, such as eu,us: ${mistakes.join(', ')}`);
  return names;
});

/**
 * Returns the names of a mistaken WALLETS that are valid, so that mistakes of their settings are reported as well. If
 * there are none, the default.
 */
export function validNamesIn(text: string): readonly string[] {
  const valid = new Set(namesIn(text).filter((name) => mistakeOf(name) === null));
  return valid.size === 0 ? [walletNameDefault] : [...valid].slice(0, namesMax);
}

function namesIn(text: string): string[] {
  return text.split(',').map((name) => name.trim());
}

function mistakeOf(name: string): string | null {
  if (!/^[a-z][a-z0-9_]*$/.test(name))
    return 'with lower-case letters, digits and _ only, and a letter first';
  if (name.length > lettersMax) return `with at most ${lettersMax} characters`;
  if (name.includes('__')) return 'without two _ in a row';
  return name.endsWith('_') ? 'without _ at its end' : null;
}

function repetitionOf(name: string, first: number, index: number): string | null {
  return first === index ? null : `other than name ${first + 1}, which is ${name} too`;
}
