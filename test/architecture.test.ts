import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

/** What each room may import of ours besides itself. */
const rooms: Record<string, string[]> = {
  kernel: [],
  config: ['kernel'],
  service: ['kernel'],
  ledger: ['kernel'],
  queue: ['kernel'],
  embedded: ['kernel'],
  sandbox: ['kernel'],
  sync: ['kernel', 'service', 'ledger'],
  jobs: ['kernel', 'config', 'queue', 'sync'],
  status: ['kernel', 'ledger', 'queue'],
  http: ['kernel', 'ledger', 'queue', 'status'],
  doctor: ['kernel', 'config', 'service', 'ledger', 'queue'],
  cli: [
    'kernel',
    'config',
    'service',
    'ledger',
    'queue',
    'embedded',
    'sandbox',
    'sync',
    'jobs',
    'status',
    'http',
    'doctor',
  ],
};

/** Packages that only some rooms may know; all others are free. */
const packages: Record<string, string[]> = {
  bullmq: ['queue', 'jobs'],
  ioredis: ['queue', 'jobs'],
  ky: ['service'],
  'drizzle-orm': ['ledger'],
  pg: ['ledger', 'embedded', 'queue'],
  pino: ['cli'],
  '@bull-board/api': ['queue'],
  '@bull-board/hono': ['queue'],
  'd3-scale': ['http'],
  'd3-shape': ['http'],
  'tiny-secp256k1': ['service'],
};

type Import = { file: string; room: string; specifier: string };

const files = ['src', 'jobs'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name}`),
);
const sources = files.map((file) => ({ file, text: readFileSync(file, 'utf8') }));
const imports: Import[] = sources.flatMap(({ file, text }) =>
  specifiersOf(text).map((specifier) => ({ file, room: roomOf(file), specifier })),
);

function specifiersOf(text: string): string[] {
  const statements =
    /^\s*(?:import|export)\s(?:[\w\s{},*$]*?\sfrom\s)?\s*(['"])(.+?)\1|\bimport\(\s*(['"`])(.+?)\3/gm;
  return [...text.matchAll(statements)].map((match) => match[2] ?? match[4] ?? '');
}

function roomOf(path: string): string {
  const [top = '', second = ''] = path.split('/');
  return top === 'src' ? second : top;
}

/** The file of ours that an import means, from the root; undefined for a package. */
function targetOf({ file, specifier }: Import): string | undefined {
  return specifier.startsWith('.') ? join(dirname(file), specifier) : undefined;
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

const told = ({ file, specifier }: Import) => `${file} imports ${specifier}`;

test('the imports of the files are found', () => {
  expect(files.length).toBeGreaterThan(100);
  expect(imports.length).toBeGreaterThan(files.length);
  expect(
    specifiersOf(`import a from 'a';\nimport {\n  b,\n} from "b";\nimport 'c';\nexport { d } from 'd';
      const e = await import('e');\n// import from nowhere\nexport const f = 'f';`),
  ).toEqual(['a', 'b', 'c', 'd', 'e']);
});

test('every file lies in a room', () => {
  expect(files.filter((file) => !Object.hasOwn(rooms, roomOf(file)))).toEqual([]);
});

test('a room imports the rooms below it and no other', () => {
  const strays = imports.filter((one) => {
    const target = targetOf(one);
    if (target === undefined) return false;
    const room = roomOf(target);
    return room !== one.room && !rooms[one.room]?.includes(room);
  });
  expect(strays.map(told)).toEqual([]);
});

test('an import names an existing file, with its extension', () => {
  const lost = imports.filter((one) => {
    const target = targetOf(one);
    return target !== undefined && !files.includes(target) && !target.endsWith('.json');
  });
  expect(lost.map(told)).toEqual([]);
});

test('a package is known to its rooms alone', () => {
  const strays = imports.filter(({ room, specifier }) => {
    const allowed = packages[packageOf(specifier)];
    return allowed !== undefined && !allowed.includes(room);
  });
  expect(strays.map(told)).toEqual([]);
});

test('modules of Node are named as such', () => {
  expect(imports.filter(({ specifier }) => builtinModules.includes(specifier)).map(told)).toEqual(
    [],
  );
});

test('the environment is read in one room', () => {
  const readers = sources.filter(
    ({ file, text }) => roomOf(file) !== 'config' && /\bprocess\s*\.\s*env\b/.test(text),
  );
  expect(readers.map(({ file }) => file)).toEqual([]);
});

test('a file is one thought: at most 250 lines, and no drawer for anything', () => {
  const long = sources.filter(({ text }) => text.split('\n').length - 1 > 250);
  expect(long.map(({ file }) => file)).toEqual([]);
  expect(files.filter((file) => /\/(index|utils?|helpers?|common|misc)\.ts$/.test(file))).toEqual(
    [],
  );
});
