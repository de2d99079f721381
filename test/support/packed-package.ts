import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll } from 'vitest';

export type PackedPackage = {
  /** A separate project in which the package is installed. */
  folder: string;
  /** Paths in the tarball. */
  files: string[];
  bytes: number;
};

const typings = ['@types/node', 'undici-types', 'pg-types'];

/**
 * Packs the built program and installs the tarball like npm, without a registry: the packages that the tarball depends
 * on are linked, and no others exist.
 */
export function packPackage(): PackedPackage {
  const folder = mkdtempSync(join(tmpdir(), 'wallet-ledger-package-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o711);
  const typescript = 'node_modules/typescript/bin/tsc';
  execFileSync(process.execPath, [typescript, '-p', 'tsconfig.types.json'], { stdio: 'inherit' });
  // Without the scripts, which would build again while other tests run the build.
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
  const [packed] = JSON.parse(execFileSync('npm', args, { encoding: 'utf8', stdio: 'pipe' })) as [
    { filename: string; unpackedSize: number; files: { path: string }[] },
  ];
  const home = join(folder, 'node_modules', 'wallet-ledger');
  mkdirSync(home, { recursive: true });
  const tarball = join(folder, packed.filename);
  execFileSync('tar', ['-xzf', tarball, '-C', home, '--strip-components=1']);
  const manifest = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
    bin: Record<string, string>;
  };
  for (const name of [...Object.keys(manifest.dependencies), ...typings]) link(folder, name);
  const program = join(home, String(manifest.bin['wallet-ledger']));
  chmodSync(program, 0o755);
  mkdirSync(join(folder, 'node_modules', '.bin'));
  symlinkSync(program, join(folder, 'node_modules', '.bin', 'wallet-ledger'));
  return { folder, files: packed.files.map(({ path }) => path), bytes: packed.unpackedSize };
}

function link(folder: string, name: string): void {
  const place = join(folder, 'node_modules', name);
  mkdirSync(dirname(place), { recursive: true });
  symlinkSync(resolve('node_modules', name), place);
}
