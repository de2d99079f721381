import type { Environment } from '../kernel/vocabulary.ts';
import { settingEntries } from './read-setting-texts.ts';

const ourPrefixes = /^(WALLET|SYNC|POOL)_/;
const editsMax = 3;

/** Returns a sentence for each variable that is named like a setting and is not a setting. */
export function warnOfUnknownNames(env: Environment): string[] {
  const known = settingEntries.flatMap(([name, { isSecret }]) =>
    isSecret ? [name, `${name}_FILE`] : [name],
  );
  return Object.keys(env)
    .filter((name) => ourPrefixes.test(name) && !known.includes(name))
    .sort((a, b) => (a < b ? -1 : 1))
    .map((name) => {
      const nearest = nearestName(name, known);
      return `${name} is not a setting${nearest ? `; did you mean ${nearest}?` : ''}`;
    });
}

function nearestName(name: string, known: readonly string[]): string | undefined {
  const distances = known.map((candidate) => ({ candidate, edits: editDistance(name, candidate) }));
  distances.sort((a, b) => a.edits - b.edits);
  const [nearest] = distances;
  return nearest && nearest.edits <= editsMax ? nearest.candidate : undefined;
}

/** Returns the Levenshtein distance of two texts: the insertions, deletions and replacements between them. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1];
    for (const [column, other] of [...to].entries()) {
      const replaced = (row[column] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
