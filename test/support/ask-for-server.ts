/**
 * The address of a server that the run starts and stops: its PostgreSQL, or a Redis for the caller; or the name of the
 * database with the program's schema on the tests' PostgreSQL. Undefined if the run has none to offer.
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
