/**
 * `npm run --silent sbom`: npm's CycloneDX document of what `npm ci --omit=dev` may install, on any platform. npm is
 * shown a lock without the packages of development, since its own `--omit=dev` leaves out what both use (zod, pg-types …).
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

type Manifest = { name: string; devDependencies?: unknown; scripts?: unknown };
type Lock = { packages: Record<string, Manifest & { dev?: boolean; resolved?: string }> };

const read = <T>(name: string) => JSON.parse(readFileSync(name, 'utf8')) as T;
const { devDependencies: _, scripts: __, ...manifest } = read<Manifest>('package.json');
const lock = read<Lock>('package-lock.json');
const packages = Object.entries(lock.packages).flatMap(([path, one]) => {
  // Where a package was fetched from is the affair of the machine that fetched it.
  const { devDependencies: ___, resolved: ____, ...kept } = one;
  return one.dev ? [] : [[path, kept]];
});

const home = mkdtempSync(join(tmpdir(), 'wallet-ledger-sbom-'));
// npm takes the folder's name for the document's.
const folder = join(home, manifest.name);
try {
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  writeFileSync(
    join(folder, 'package-lock.json'),
    JSON.stringify({ ...lock, packages: Object.fromEntries(packages) }),
  );
  execFileSync('npm', ['sbom', '--sbom-format=cyclonedx', '--package-lock-only'], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
} finally {
  rmSync(home, { recursive: true, force: true });
}
