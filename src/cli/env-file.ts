import { constants } from 'node:fs';
import { access, lstat, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { parseEnv } from 'node:util';
import { LedgerError } from '../kernel/errors.ts';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY, W_OK } = constants;

/** Values that need no quotes. */
const plain = /^[\w./:,=@+-]+$/;

/** Formats settings as a `.env` file that is read back as the same values. Throws for a value that cannot be quoted. */
export function renderEnvFile(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => {
      const marks = plain.test(value)
        ? ['']
        : ["'", '"', '`'].filter((mark) => !value.includes(mark));
      const line = marks
        .map((mark) => `${name}=${mark}${value}${mark}\n`)
        .find((each) => parseEnv(each)[name] === value);
      if (line === undefined) throw unwritable(name);
      return line;
    })
    .join('');
}

function unwritable(name: string): LedgerError {
  const cure = `put it into a file, and give its path as ${name}_FILE`;
  return new LedgerError('settings', `a file .env cannot hold the value of ${name}`, { cure });
}

/** Throws LedgerError `usage` if a file or link of this name exists, or if the folder is not writable. */
export async function requireCreatable(path: string): Promise<void> {
  const found = await lstat(path).catch(() => null);
  if (found !== null) throw existing(path);
  await access(dirname(path), W_OK).catch((error) => refuse(path, error));
}

/** Creates a file that only this user can read. Replaces nothing, and follows no link. */
export async function createPrivateFile(path: string, text: string): Promise<void> {
  const file = await open(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, 0o600).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST' || error.code === 'ELOOP') throw existing(path);
      return refuse(path, error);
    },
  );
  try {
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

function refuse(path: string, error: NodeJS.ErrnoException): never {
  const reason =
    error.code === 'ENOENT' ? `there is no folder ${dirname(path)}` : (error.code ?? error.message);
  throw new LedgerError('usage', `${path} cannot be written (${reason})`, {
    cause: error,
    cure: 'name a file in a folder that you may write, with --out',
  });
}

function existing(path: string): LedgerError {
  return new LedgerError('usage', `${path} exists, and nothing is overwritten`, {
    cure: 'move it away, or name another file with --out',
  });
}
