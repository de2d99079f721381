import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findDistrust } from '../../src/kernel/trusted-path.ts';

let home: string;
let file: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'wallet-ledger-trust-'));
  file = join(home, 'folder', 'file');
  mkdirSync(join(home, 'folder'), { mode: 0o755 });
  writeFileSync(file, '', { mode: 0o644 });
});

afterEach(() => rmSync(home, { recursive: true }));

test('a file of this user in a directory of this user is trusted, below a sticky directory, too', () => {
  expect(findDistrust(file)).toBeNull();
  chmodSync(home, 0o1777);
  expect(findDistrust(file)).toBeNull();
});

test('what is not there is no matter of trust', () => {
  expect(findDistrust(join(home, 'none', 'file'))).toBeNull();
});

test('a file or a directory that others may write is not trusted, and the cure names it', () => {
  chmodSync(file, 0o646);
  expect(findDistrust(file)).toEqual({
    what: `every user may write ${file}`,
    cure: expect.stringContaining(`chmod go-w ${file}`),
  });
  chmodSync(file, 0o644);
  for (const folder of [home, join(home, 'folder')]) {
    chmodSync(folder, 0o777);
    expect(findDistrust(file)?.what).toBe(`every user may write ${folder}`);
    chmodSync(folder, 0o755);
  }
});

test('a sticky directory itself may not be shared', () => {
  chmodSync(home, 0o1777);
  expect(findDistrust(home)?.what).toContain(home);
});

test('a link is followed, and every directory on its path is checked', () => {
  const link = join(home, 'link');
  symlinkSync('folder/../folder/file', link);
  expect(findDistrust(link)).toBeNull();
  chmodSync(join(home, 'folder'), 0o777);
  expect(findDistrust(link)?.what).toContain(join(home, 'folder'));
});

test('links that lead round in a circle end', () => {
  symlinkSync('b', join(home, 'a'));
  symlinkSync('a', join(home, 'b'));
  expect(findDistrust(join(home, 'a'))?.what).toContain('leads back to itself');
});

describe.runIf(process.getuid?.() === 0)('as root', () => {
  test.each(['folder', 'folder/file'])('%s of another user is not trusted', (path) => {
    chownSync(join(home, path), 4242, 4242);
    expect(findDistrust(file)?.what).toBe(`${join(home, path)} belongs to user 4242`);
  });

  test('a link of another user in a shared directory is not trusted', async () => {
    const { lchownSync } = await import('node:fs');
    chmodSync(home, 0o1777);
    const link = join(home, 'link');
    symlinkSync(file, link);
    lchownSync(link, 4242, 4242);
    expect(findDistrust(link)?.what).toBe(`${link} belongs to user 4242`);
  });

  test('a group that is not the owner alone may not write', () => {
    chownSync(file, 0, 4242);
    chmodSync(file, 0o664);
    expect(findDistrust(file)?.what).toBe(`every user of group 4242 may write ${file}`);
    chownSync(file, 0, 0);
    expect(findDistrust(file)).toBeNull();
  });
});
