import type { Environment } from '../kernel/vocabulary.ts';
import { settingEntries } from './read-setting-texts.ts';
import { isPerWallet, prefixOf } from './wallet-names.ts';

const ourPrefixes = /^(?:(?:WALLET|SYNC|POOL)_|WALLET$)/;
const editsMax = 3;
/** Names of other programs that are close to one of ours. */
const foreignNames = new Set(['HTTPS_HOST', 'HTTPS_PORT', 'LOGLEVEL']);

/** Name of a setting of one wallet, after the name of the wallet. */
const prefixed = /^(.+?__)(.+)$/;

const knownNames = settingEntries.flatMap(([name, { isSecret }]) =>
  isSecret ? [name, `${name}_FILE`] : [name],
);
const walletSettings = knownNames.filter(isPerWallet);

/**
 * Returns a sentence for each variable that looks like a setting and is none. It has a prefix of ours, or differs in
 * one or two letters from a setting that is not set. An unknown wallet prefix is reported only with `areNamesValid`:
 * otherwise it may be a mistaken name in WALLETS.
 */
export function warnOfUnknownNames(
  env: Environment,
  wallets: readonly string[],
  areNamesValid: boolean,
): string[] {
  const prefixes = wallets.map(prefixOf);
  return Object.keys(env)
    .sort((a, b) => (a < b ? -1 : 1))
    .flatMap((name) => {
      const [, prefix, setting] = prefixed.exec(name) ?? [];
      if (prefix === undefined || setting === undefined) return warnOfName(env, name, prefixes);
      if (prefixes.includes(prefix)) return warnOfSetting(name, prefix, setting);
      return areNamesValid ? warnOfPrefix(name, setting, prefixes) : [];
    });
}

function warnOfName(env: Environment, name: string, prefixes: readonly string[]): string[] {
  const single = prefixes.flatMap((prefix) =>
    walletSettings.flatMap((setting) =>
      name === `${prefix.slice(0, -1)}${setting}` ? prefix + setting : [],
    ),
  );
  if (knownNames.includes(name)) return [];
  const isOurs = ourPrefixes.test(name) || single.length > 0;
  const meant =
    single[0] ?? nearestName(name, knownNames, isOurs ? editsMax : strangeEditsMax(name));
  // If the similar setting is set as well, the variable belongs to another program.
  const isStrange = meant === undefined || env[meant] !== undefined || foreignNames.has(name);
  return !isOurs && isStrange ? [] : [`${name} is not a setting${suggest(meant)}`];
}

/** The environment has many variables, so short names need to be closer. */
function strangeEditsMax(name: string): number {
  return name.length < 10 ? 1 : 2;
}

function warnOfSetting(name: string, prefix: string, setting: string): string[] {
  if (walletSettings.includes(setting)) return [];
  if (knownNames.includes(setting))
    return [`${name} has no effect: ${setting} cannot be set per wallet; leave the prefix out`];
  const known = walletSettings.map((each) => prefix + each);
  return [`${name} is not a setting${suggest(nearestName(name, known))}`];
}

function warnOfPrefix(name: string, setting: string, prefixes: readonly string[]): string[] {
  if (!walletSettings.includes(setting) && !ourPrefixes.test(setting)) return [];
  const known = prefixes.flatMap((prefix) => walletSettings.map((each) => prefix + each));
  const nearest = nearestName(name.toUpperCase(), known);
  return [`${name} belongs to no wallet in WALLETS${suggest(nearest)}`];
}

function suggest(name: string | undefined): string {
  return name === undefined ? '' : `; did you mean ${name}?`;
}

function nearestName(
  name: string,
  known: readonly string[],
  atMost = editsMax,
): string | undefined {
  const distances = known
    .filter((candidate) => Math.abs(candidate.length - name.length) <= atMost)
    .map((candidate) => ({ candidate, edits: editDistance(name, candidate, atMost) }));
  distances.sort((a, b) => a.edits - b.edits);
  const [nearest] = distances;
  return nearest && nearest.edits <= atMost ? nearest.candidate : undefined;
}

/**
 * Returns the edit distance of two texts: the number of insertions, deletions, replacements and exchanges of
 * neighbours. Returns infinity if it exceeds `atMost`.
 */
function editDistance(from: string, to: string, atMost: number): number {
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1];
    for (const [column, other] of [...to].entries()) {
      const isExchange = letter === to[column - 1] && other === from[index - 1];
      const ways = [
        at(row, column) + (letter === other ? 0 : 1),
        at(row, column + 1) + 1,
        at(next, column) + 1,
        isExchange ? at(before, column - 1) + 1 : Number.POSITIVE_INFINITY,
      ];
      next.push(Math.min(...ways));
    }
    // Every path to a later row passes through one of two consecutive rows, so both minimums bound the result.
    if (Math.min(...row, ...next) > atMost) return Number.POSITIVE_INFINITY;
    before = row;
    row = next;
  }
  return at(row, to.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
