/** Advice for an operator by SQLSTATE: what PostgreSQL has run out of (class 53). */
export const resourceCures: Readonly<Record<string, string>> = {
  '53100': 'free space on the disk of PostgreSQL',
  '53300': 'lower DATABASE_POOL_SIZE, or raise max_connections of PostgreSQL',
  '53400':
    'raise the limit of PostgreSQL that the message names, as a superuser: `alter role … set temp_file_limit = …` for temp_file_limit',
};

const diskFull = '53100';

/**
 * Returns the SQLSTATE by which an error of PostgreSQL is known. Some versions refuse a session that cannot begin on a
 * full disk with an internal error (XX000), which only its message distinguishes from others.
 */
export function knownState(code: string, message: string): string {
  return code === 'XX000' && message.startsWith('could not write init file') ? diskFull : code;
}

/** Returns the advice about what PostgreSQL has run out of; undefined if it refused for another reason. */
export function resourceCureOf(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = (cause as { code?: unknown }).code;
    const cure =
      typeof code === 'string' ? resourceCures[knownState(code, cause.message)] : undefined;
    if (cure !== undefined) return cure;
  }
  return undefined;
}
