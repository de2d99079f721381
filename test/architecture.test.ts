import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

/** Rooms that each room may import besides itself. */
const rooms: Record<string, string[]> = {
  kernel: [],
  config: ['kernel'],
  service: ['kernel'],
  ledger: ['kernel'],
  queue: ['kernel'],
  embedded: ['kernel'],
  sandbox: ['kernel'],
  sync: ['kernel', 'service', 'ledger'],
  webhooks: ['kernel', 'ledger'],
  jobs: ['kernel', 'config', 'queue', 'sync'],
  status: ['kernel', 'ledger', 'queue'],
  export: ['kernel', 'ledger'],
  library: ['kernel', 'config', 'ledger', 'sandbox'],
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
    'webhooks',
    'jobs',
    'status',
    'http',
    'doctor',
    'export',
  ],
};

/** Packages that only some rooms may know; all others are free. */
const packages: Record<string, string[]> = {
  bullmq: ['queue', 'jobs'],
  ioredis: ['queue', 'jobs'],
  ky: ['service'],
  'drizzle-orm': ['ledger', 'library'],
  pg: ['ledger', 'embedded', 'queue', 'library'],
  pino: ['cli'],
  '@bull-board/api': ['queue'],
  '@bull-board/hono': ['queue'],
  'd3-scale': ['http'],
  'hyparquet-writer': ['export'],
  'd3-shape': ['http'],
  standardwebhooks: ['webhooks'],
  'tiny-secp256k1': ['service'],
};

type Import = { file: string; room: string; specifier: string };

const filesOf = (folders: string[]) =>
  folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${folder}/${name}`),
  );
const files = filesOf(['src', 'jobs']);
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

/** Lines of code that a body may have: of TypeScript those between the braces, of SQL all of the statement. */
const bodyLinesMax = 60;

/** Code is broken at 100 columns by the formatter; prose may be wider. */
const commentColumnsMax = 120;

/** Longer functions of landed migrations, which may only become shorter. */
const longSql: Record<string, number> = {
  'engine.problems_of': 233,
  'ledger.reconcile': 228,
  'engine.hand_out': 142,
  'ledger.reconcile_assets': 94,
  'engine.take_slots': 62,
};

/** Last line of a signature, as the formatter breaks it. */
const bodyStart =
  /^( *)(?!(?:\} )?(?:if|for|while|switch|catch)\b)(?=[\w$)}]).*(?:=>|\).*[^,(=:?]) \{$/;

function bodiesOf(text: string): { line: number; body: string[] }[] {
  const lines = text.split('\n');
  return lines.flatMap((line, index) => {
    const [, indent] = bodyStart.exec(line) ?? [];
    if (indent === undefined) return [];
    const isEnd = (other: string) => /^\}[;,)]*$/.test(other.replace(indent, ''));
    const length = lines
      .slice(index + 1)
      .findIndex((other) => other.startsWith(indent) && isEnd(other));
    return [{ line: index + 1, body: lines.slice(index + 1, index + 1 + length) }];
  });
}

/** The functions and views of the schema as the last migration has left them, by name. */
const sqlDefinitions = new Map(
  readdirSync('migrations')
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .flatMap((name) => readFileSync(`migrations/${name}`, 'utf8').split('--> statement-breakpoint'))
    .flatMap((statement) => {
      const head = /^CREATE (?:OR REPLACE )?(?:FUNCTION|VIEW) ([\w.]+)/m.exec(statement);
      return head?.[1] ? [[head[1], statement.slice(head.index)] as const] : [];
    }),
);

function countCode(lines: string[]): number {
  return lines.filter((line) => line.trim() !== '' && !/^\s*(\/\/|\/?\*|--)/.test(line)).length;
}

test('a backfill and a single pass do not load BullMQ, which takes memory and time', () => {
  const loaded = new Set<string>();
  const load = (file: string) => {
    if (loaded.has(file)) return;
    loaded.add(file);
    const text = sources.find((source) => source.file === file)?.text ?? '';
    const values = text.replaceAll(/^(?:import|export) type\s[^;]*;/gm, '');
    for (const specifier of specifiersOf(values))
      load(targetOf({ file, room: roomOf(file), specifier }) ?? specifier);
  };
  for (const name of ['backfill', 'sync']) load(`src/cli/commands/${name}.ts`);
  expect([...loaded]).toContain('drizzle-orm');
  expect([...loaded]).not.toContain('bullmq');
});

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

test(`a body has at most ${bodyLinesMax} lines of code, those of a template included`, () => {
  const bodies = sources.flatMap(({ file, text }) =>
    bodiesOf(text).map(({ line, body }) => ({ at: `${file}:${line}`, lines: countCode(body) })),
  );
  expect(bodies.length).toBeGreaterThan(1_000);
  expect(bodies.filter(({ lines }) => lines > bodyLinesMax)).toEqual([]);
});

test(`a function of SQL has at most ${bodyLinesMax} lines of code`, () => {
  expect(sqlDefinitions.size).toBeGreaterThan(50);
  const long = [...sqlDefinitions].filter(
    ([name, text]) => countCode(text.trim().split('\n')) > (longSql[name] ?? bodyLinesMax),
  );
  expect(long.map(([name]) => name)).toEqual([]);
});

test('no files import each other in a circle, not even types: what both need is a third file', () => {
  const links = imports.map((one) => [one.file, targetOf(one)] as const);
  const circular = new Set(files);
  for (let size = 0; size !== circular.size; ) {
    size = circular.size;
    const inside = links.filter(([from, to]) => circular.has(from) && to && circular.has(to));
    const importers = new Set(inside.map(([from]) => from));
    const imported = new Set(inside.map(([, to]) => to));
    for (const file of circular)
      if (!importers.has(file) || !imported.has(file)) circular.delete(file);
  }
  expect([...circular]).toEqual([]);
});

test('what streams.checkpoint holds is read by its parser alone, never in SQL', () => {
  const texts = [...sources.map(({ file, text }) => [file, text] as const), ...sqlDefinitions];
  expect(
    texts.filter(([, text]) => /\bcheckpoint"?\s*->/.test(text)).map(([name]) => name),
  ).toEqual([]);
});

test(`a comment is at most ${commentColumnsMax} columns wide`, () => {
  const wide = sources.flatMap(({ file, text }) =>
    text.split('\n').flatMap((line, index) => {
      const isWide = /^\s*(\/\/|\/?\*)/.test(line) && line.length > commentColumnsMax;
      return isWide ? [`${file}:${index + 1}`] : [];
    }),
  );
  expect(wide).toEqual([]);
});

/** Matches a comment that begins with a question word. Lines of `//` in a row are one comment; `(l)` may come first. */
const question =
  /(?<=^|[\s(,;{[])\/(?:\*+[\s*]*|(?<!^ *\/\/.*\n *\/)\/ *)(?:\(\w+\) )?(?:What|Whether|Of|How|Who|Which)\b/gm;

function questionLinesOf(text: string): number[] {
  return [...text.matchAll(question)].map(({ index }) => text.slice(0, index).split('\n').length);
}

test('no comment begins with a question word', () => {
  const word = 'How';
  expect(
    questionLinesOf(
      `/** ${word} */\n/**\n * ${word}\n */\nf(); // ${word}\n// A\n// ${word}\n/** (l) ${word} */\n// Howl\n`,
    ),
  ).toEqual([1, 2, 5, 8]);
  const asking = filesOf(['src', 'jobs', 'test', 'scripts', 'examples']).flatMap((file) =>
    questionLinesOf(readFileSync(file, 'utf8')).map((line) => `${file}:${line}`),
  );
  expect(asking).toEqual([]);
});

/** Statements about the server itself, the machinery (migrations, tickets, intervals, hints), and two reports in JSON. */
const unchecked = [
  'src/ledger/connection/grant-roles.ts',
  'src/ledger/connection/role-limits.ts',
  'src/ledger/hint-store.ts',
  'src/ledger/interval-store.ts',
  'src/ledger/reports/read-flows.ts',
  'src/ledger/reports/read-status.ts',
  'src/ledger/ticket-source.ts',
];

test('rows of facts take their types from the schema, not from a cast', () => {
  const casting = sources.filter(({ text }) =>
    /\bexecute<|\bsql<|\.as<|\$type<(?!ListOrder|RecordSource)/.test(text),
  );
  expect(casting.map(({ file }) => file).sort()).toEqual([...unchecked].sort());
});
