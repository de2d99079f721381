import { accessSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { programOnPath } from './program-on-path.ts';

/** Debian installs the programs of each version separately, and not on the PATH. */
const debianFolder = '/usr/lib/postgresql';
const needed = ['initdb', 'pg_ctl', 'pg_dump', 'pg_restore', 'pg_basebackup', 'psql'];

/** Folder of an installed PostgreSQL with all its tools; undefined if there is none. */
export const toolsFolder: string | undefined = findTools();

function findTools(): string | undefined {
  const versions = listed(debianFolder).map((version) => join(debianFolder, version, 'bin'));
  const onPath = programOnPath(['pg_basebackup'])?.replace(/\/[^/]+$/, '');
  return [...versions.reverse(), ...(onPath ? [onPath] : [])].find((folder) =>
    needed.every((program) => isThere(join(folder, program))),
  );
}

function listed(folder: string): string[] {
  return isThere(folder) ? readdirSync(folder).sort((a, b) => Number(a) - Number(b)) : [];
}

function isThere(path: string): boolean {
  try {
    accessSync(path);
    return true;
  } catch {
    return false;
  }
}
