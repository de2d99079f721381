import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'wallet ledger ops '));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const makeSecrets = (file: string) =>
  execFileSync('sh', ['ops/make-secrets.sh', file], { encoding: 'utf8', stdio: 'pipe' });

test('[S14] ops/make-secrets.sh writes what docker-compose.yml requires, for the owner alone, and keeps what is there', () => {
  const file = join(ownFolder(), '.env');
  writeFileSync(file, 'WALLET_API_KEY=mine\nHTTP_TOKEN=chosen-by-the-operator', { mode: 0o644 });
  expect(makeSecrets(file)).toBe('');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const text = readFileSync(file, 'utf8');
  const entries = new Map(
    text
      .trimEnd()
      .split('\n')
      .map((line) => line.split('=') as [string, string]),
  );
  const compose = readFileSync('docker-compose.yml', 'utf8').matchAll(/\$\{(\w+):\?/g);
  for (const [, name = ''] of compose) expect([...entries.keys()]).toContain(name);
  expect(entries.get('WALLET_API_KEY')).toBe('mine');
  expect(entries.get('HTTP_TOKEN')).toBe('chosen-by-the-operator');
  const made = [entries.get('POSTGRES_PASSWORD'), entries.get('GRAFANA_PASSWORD')];
  for (const secret of made) expect(secret).toMatch(/^[\da-f]{48}$/);
  expect(new Set(made).size).toBe(2);
  makeSecrets(file);
  expect(readFileSync(file, 'utf8')).toBe(text);
});

test('[S14] ops/make-secrets.sh writes through no link', () => {
  const folder = ownFolder();
  const target = join(folder, 'target');
  symlinkSync(target, join(folder, '.env'));
  expect(() => makeSecrets(join(folder, '.env'))).toThrow(/is a link/);
  expect(() => statSync(target)).toThrow(/ENOENT/);
});

test.runIf(process.getuid?.() === 0)(
  '[S14] ops/make-secrets.sh writes into no file of another user',
  () => {
    const file = join(ownFolder(), '.env');
    writeFileSync(file, '');
    chownSync(file, 4242, 4242);
    expect(() => makeSecrets(file)).toThrow(/belongs to another user/);
    expect(readFileSync(file, 'utf8')).toBe('');
  },
);

test('[S12] ops/pin-images.sh puts the digest behind every image of others, and leaves the rest as it was', () => {
  const folder = ownFolder();
  mkdirSync(join(folder, 'ops'));
  mkdirSync(join(folder, 'bin'));
  const pinnedFiles = ['docker-compose.yml', 'docker-compose.service.yml', 'Dockerfile'];
  const names = [...pinnedFiles, 'ops/pin-images.sh'];
  for (const name of names) cpSync(name, join(folder, name));
  const digest = `sha256:${'ab'.repeat(32)}`;
  const docker = join(folder, 'bin', 'docker');
  writeFileSync(
    docker,
    `#!/bin/sh\n[ "$1 $2 $3" = "buildx imagetools inspect" ] && echo ${digest}\n`,
  );
  chmodSync(docker, 0o755);
  const pin = () =>
    execFileSync('sh', [join(folder, 'ops/pin-images.sh')], {
      env: { PATH: `${join(folder, 'bin')}:${process.env['PATH']}` },
      encoding: 'utf8',
    });
  const pinned = pin().trimEnd().split('\n');
  expect(pinned).toHaveLength(8);
  for (const name of pinnedFiles) {
    const text = readFileSync(join(folder, name), 'utf8');
    expect(text.replaceAll(`@${digest}`, '')).toBe(readFileSync(name, 'utf8'));
    const images = [...text.matchAll(/^(?: *image: |ARG NODE_IMAGE=)(\S+)$/gm)].map(([, at]) => at);
    const others = images.filter((image) => image !== 'wallet-ledger');
    expect(others.filter((image) => !image?.endsWith(`@${digest}`))).toEqual([]);
  }
  expect(pin()).toBe('');
});
