import { accessSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { programOnPath } from './program-on-path.ts';

/** Debian keeps the programs of each version apart, and off the PATH. */
const debianFolder = '/usr/lib/postgresql';
const needed = ['initdb', 'pg_ctl', 'pg_dump', 'pg_restore', 'pg_basebackup', 'psql'];

/** Where a PostgreSQL with all its tools is installed on this machine; undefined where none is. */
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
