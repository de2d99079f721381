import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { codePattern } from './code-pattern.ts';
import { type Edit, editsOf, type PlantedBug } from './planted-bug.ts';

/** The files of the product in which a bug may be planted, each with its text. */
export type Sources = ReadonlyMap<string, string>;

/** A part of a file, from `start` to `end`. */
type Place = { file: string; text: string; start: number; end: number };

const declaration =
  /^(?:export )?(?:abstract )?(?:async )?(?:function\*?|class|const|let|type|interface) (\w+)/gm;
const sqlDeclaration =
  /^(?:CREATE (?:OR REPLACE )?(?:FUNCTION|VIEW) ([\w.]+)|ALTER TABLE "(\w+)"\."(\w+)" ADD COLUMN "(\w+)")/gm;

export function readSources(root: string): Sources {
  const files = ['src', 'jobs', 'migrations'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(ts|sql)$/.test(name))
      .sort()
      .map((name) => join(folder, name)),
  );
  return new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
}

/** The changed files with their content. Throws if an edit does not have exactly one place. */
export function plant(sources: Sources, ...bugs: PlantedBug[]): Sources {
  const changed = new Map<string, string>();
  for (const edit of bugs.flatMap(editsOf)) {
    const { file, text, start, end } = placeOf(new Map([...sources, ...changed]), edit);
    const imports = (edit.uses ?? []).map((name) => importOf(sources, name, file)).join('');
    changed.set(file, imports + text.slice(0, start) + edit.put + text.slice(end));
  }
  return changed;
}

function placeOf(sources: Sources, edit: Edit): Place {
  const scopes = scopesCalled(sources, edit.in);
  if (scopes.length === 0) throw new Error(`nothing is called ${edit.in}`);
  const pattern = codePattern(edit.find);
  const found = scopes.map((scope) =>
    [...scope.text.slice(scope.start, scope.end).matchAll(pattern)].map(({ 0: code, index }) => {
      const start = scope.start + index;
      return { ...scope, start, end: start + code.length };
    }),
  );
  const places = isReplaced(scopes)
    ? (found.at(-1) ?? [])
    : scopes[0]?.file.endsWith('.sql')
      ? // Views are also changed by their text: the migration that holds the code last.
        (found.findLast(({ length }) => length > 0) ?? [])
      : found.flat();
  const [place, ...others] = places;
  if (!place || others.length > 0)
    throw new Error(`“${edit.find}” occurs ${places.length} times in ${edit.in}, not once`);
  return place;
}

/** Each later definition replaces an SQL function as a whole. */
function isReplaced(scopes: Place[]): boolean {
  return scopes.some(({ text, start }) => /^CREATE (OR REPLACE )?FUNCTION/.test(text.slice(start)));
}

function scopesCalled(sources: Sources, name: string): Place[] {
  return [...sources].flatMap(([file, text]) => {
    if (name.endsWith('.sql'))
      return file.replace(/^migrations\/\d+_/, '') === name
        ? [{ file, text, start: 0, end: text.length }]
        : [];
    return declarationsOf(file, text).filter((declared) => declared.name === name);
  });
}

type Declared = Place & { name: string };

const latest = new Map<string, { text: string; declared: Declared[] }>();

/** A declaration extends to the next one. Cached, because each of hundreds of edits needs those of every file. */
function declarationsOf(file: string, text: string): Declared[] {
  const known = latest.get(file);
  if (known?.text === text) return known.declared;
  const heads = [...text.matchAll(file.endsWith('.sql') ? sqlDeclaration : declaration)];
  const declared = heads.map((head, nth) => {
    const [, ...names] = head;
    const end = heads[nth + 1]?.index ?? text.length;
    return { file, text, start: head.index, end, name: names.filter(Boolean).join('.') };
  });
  latest.set(file, { text, declared });
  return declared;
}

function importOf(sources: Sources, name: string, file: string): string {
  const [from] = scopesCalled(sources, name).filter(({ text, start }) =>
    text.startsWith('export ', start),
  );
  if (!from) throw new Error(`nothing exports ${name}`);
  return `import { ${name} } from './${relative(dirname(file), from.file)}';\n`;
}
