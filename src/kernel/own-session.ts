/**
 * Settings of every session of the program. They override those of roles, databases and connection strings. They decide
 * what a statement reads, how values are written as text, how PostgreSQL prints a view that a migration changes, and
 * whether a session continues after an error.
 */
const steady = {
  TimeZone: 'UTC',
  DateStyle: 'ISO',
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: '1',
  quote_all_identifiers: 'off',
  // Decides whether PostgreSQL prints the schema of an object, and whose functions a statement finds.
  search_path: 'pg_catalog',
  array_nulls: 'on',
  standard_conforming_strings: 'on',
  transform_null_equals: 'off',
  row_security: 'on',
  exit_on_error: 'off',
  default_transaction_isolation: 'read\\ committed',
  default_transaction_deferrable: 'off',
  plan_cache_mode: 'auto',
  idle_session_timeout: '0',
};

/** Returns server options for these settings. */
function serverOptions(settings: Record<string, string>): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
}

/**
 * Moves the server options out of a connection string, where pg would prefer them to those of the program, and appends
 * the program's own: of two values for one setting the last counts.
 */
export function ownSession(
  connectionString: string,
  own: Record<string, string> = {},
): { connectionString: string; options: string } {
  const options = serverOptions({ ...steady, ...own });
  if (!URL.canParse(connectionString)) return { connectionString, options };
  const url = new URL(connectionString);
  const given = url.searchParams.get('options');
  if (given === null) return { connectionString, options };
  url.searchParams.delete('options');
  return { connectionString: url.toString(), options: `${given} ${options}`.trim() };
}
