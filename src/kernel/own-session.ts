/**
 * Takes the server options out of a connection string, where pg would prefer them to those of the program, and puts the
 * program's own behind them: of two values the last counts.
 */
export function ownSession(
  connectionString: string,
  own: string,
): { connectionString: string; options: string } {
  if (!URL.canParse(connectionString)) return { connectionString, options: own };
  const url = new URL(connectionString);
  const given = url.searchParams.get('options');
  if (given === null) return { connectionString, options: own };
  url.searchParams.delete('options');
  return { connectionString: url.toString(), options: `${given} ${own}`.trim() };
}
