import {
  chmodSync,
  lchownSync,
  lstatSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeWholeFile } from '../../src/export/whole-file.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** A directory in which every user may create files, and a file that a link in it leads to. */
function sharedFolder() {
  const folder = temporaryFolder();
  chmodSync(folder, 0o1777);
  const [target, link] = [join(folder, 'target'), join(folder, 'books.csv')];
  writeFileSync(target, 'precious');
  symlinkSync(target, link);
  return { target, link };
}

async function* books() {
  yield 'books';
}

test('a link of this user stays, and the file that it leads to is replaced', async () => {
  const { target, link } = sharedFolder();
  await writeWholeFile(link, books());
  expect([readFileSync(target, 'utf8'), lstatSync(link).isSymbolicLink()]).toEqual(['books', true]);
});

test.runIf(process.getuid?.() === 0)(
  'a link that another user put in the way is refused, and the file that it leads to stays',
  async () => {
    const { target, link } = sharedFolder();
    lchownSync(link, 4242, 4242);
    await expect(writeWholeFile(link, books())).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining('a symbolic link of user 4242'),
    });
    expect(readFileSync(target, 'utf8')).toBe('precious');
  },
);
