import { readSettingFile } from './read-secret.ts';

/** Parameters of DATABASE_URL that name files. A user who can write one of them can impersonate the server. */
const fileParameters = ['sslrootcert', 'sslcert', 'sslkey'];

/** Returns the files that DATABASE_URL names, and a problem for each that is missing or that others may write. */
export function inspectLinkFiles(
  databaseUrl: string | undefined,
  readFile: (path: string) => string,
): { files: string[]; problems: string[] } {
  if (databaseUrl === undefined || !URL.canParse(databaseUrl)) return { files: [], problems: [] };
  const { searchParams } = new URL(databaseUrl);
  const files = fileParameters.flatMap((name) => searchParams.getAll(name).at(-1) || []);
  const problems = files.flatMap((path) => {
    try {
      readSettingFile('DATABASE_URL', path, readFile);
      return [];
    } catch (error) {
      return [(error as Error).message];
    }
  });
  return { files, problems };
}
