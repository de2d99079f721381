import { readFileSync, writeFileSync } from 'node:fs';

/**
 * Adds to package-lock.json the optional packages of other platforms that a partial registry did not serve when the
 * lock was written: without them `npm ci` refuses the lock. Run it after a change of the lock made behind such a
 * registry.
 */
type LockedPackage = {
  version: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
};

const platform =
  /(android|darwin|linux|win32|freebsd|openharmony|netbsd|openbsd|sunos|aix)-([a-z0-9]+)(?:-(.*))?$/;

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  packages: Record<string, LockedPackage>;
};

for (const [path, dependent] of Object.entries({ ...lock.packages })) {
  for (const [name, range] of Object.entries(dependent.optionalDependencies ?? {})) {
    const [, os, cpu, abi = ''] = platform.exec(name) ?? [];
    if (!os || !cpu || isLocked(path, name)) continue;
    const libc = abi.includes('musl') ? ['musl'] : abi.includes('gnu') ? ['glibc'] : undefined;
    lock.packages[`node_modules/${name}`] = {
      version: range.replace(/^[\^~]/, ''),
      cpu: [cpu],
      ...(dependent.dev && { dev: true }),
      ...(libc && { libc }),
      optional: true,
      os: [os],
    };
  }
}
const sorted = Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1));
writeFileSync(
  'package-lock.json',
  `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`,
);

/** Whether Node would find the package from there: beside the dependent, or in any folder above. */
function isLocked(path: string, name: string): boolean {
  const folders = path
    .split('/node_modules/')
    .map((_, index, parts) => parts.slice(0, index + 1).join('/node_modules/'));
  return ['', ...folders].some(
    (folder) => `${folder && `${folder}/`}node_modules/${name}` in lock.packages,
  );
}
