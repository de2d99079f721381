/**
 * The address of a server that the run starts and stops: its one PostgreSQL, or a Redis of the caller's own; or the
 * name of the database on the tests' PostgreSQL that has the program's schema.
 * Undefined where the run has none to offer.
 */
export async function askForServer(
  kind: 'postgres' | 'redis' | 'template',
): Promise<string | undefined> {
  const broker = process.env['TEST_SERVER_BROKER'];
  if (!broker) throw new Error('test/support/global-setup.ts is not among vitest’s globalSetup');
  const response = await fetch(`${broker}/${kind}`);
  const answer = await response.text();
  if (!response.ok) throw new Error(answer);
  return answer || undefined;
}
