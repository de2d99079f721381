import { onTestFinished } from 'vitest';
import { createOwnServer, type OwnServer } from '../support/embedded-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const settings = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'max_wal_size=32MB',
  'min_wal_size=32MB',
  'shared_buffers=16MB',
];

/** A PostgreSQL of the test's own, which keeps what it has committed; removed with the test. */
export async function startOwnPostgres(
  prepareHome: (home: string) => void = () => undefined,
): Promise<OwnServer> {
  const home = temporaryFolder();
  prepareHome(home);
  const server = await createOwnServer(home, settings, temporaryFolder());
  onTestFinished(() => server.stop('SIGQUIT'));
  await server.start();
  return server;
}
