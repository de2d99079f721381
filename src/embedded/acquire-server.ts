import { abortableSleep } from '../kernel/abortable-sleep.ts';
import { LedgerError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import { handOverData } from './initialise-data.ts';
import { findPostmaster, type Postmaster } from './postmaster.ts';
import type { ServerAccount } from './server-account.ts';
import type { ServerBinaries } from './server-binaries.ts';
import type { ServerFiles } from './server-files.ts';
import { lastComplaint } from './server-log.ts';
import { type ServerPresence, shareServer } from './server-presence.ts';
import { startServer } from './start-server.ts';
import { stopServer } from './stop-server.ts';

/** Parts that are needed to run the server. */
export type Server = {
  files: ServerFiles;
  binaries: ServerBinaries;
  account: ServerAccount;
  password: string;
  log: Log;
};

/** Connection to the running server that marks this process as one of its users. */
export type ServerHandle = { socketDirectory: string; presence: ServerPresence };

const attachMs = 120_000;
const startsMax = 4;
const pauseMs = 50;
const pauseMaxMs = 1000;

/**
 * Joins the running server, or starts one; retries when other processes start or stop it at the same moment. Throws a
 * LedgerError `database-unreachable` after 4 failed starts or 120 s.
 */
export async function acquireServer(server: Server, signal: AbortSignal): Promise<ServerHandle> {
  const deadline = AbortSignal.timeout(attachMs);
  const either = AbortSignal.any([signal, deadline]);
  let failedStarts = 0;
  try {
    while (failedStarts < startsMax) {
      const outcome = await joinOrStart(server, either);
      if (typeof outcome === 'object') return outcome;
      if (outcome === 'started') continue;
      if (outcome === 'failed') failedStarts += 1;
      await abortableSleep(Math.min(pauseMaxMs, pauseMs * 2 ** failedStarts), either);
    }
  } catch (error) {
    if (!deadline.aborted || signal.aborted) throw error;
  }
  throw notStarting(server.files);
}

async function joinOrStart(
  server: Server,
  signal: AbortSignal,
): Promise<ServerHandle | 'started' | 'failed' | 'busy'> {
  const { files, binaries, account, password } = server;
  const postmaster = await findPostmaster(files.data, signal);
  if (!postmaster) {
    return (await startServer(files, binaries, account, signal)) ? 'started' : 'failed';
  }
  const { socketDirectory, isReady } = postmaster;
  if (!isReady) return 'busy';
  const presence = socketDirectory && (await shareServer(socketDirectory, password));
  if (socketDirectory && presence && !presence.isSuperuser) return { socketDirectory, presence };
  if (presence) await presence.end();
  if (!socketDirectory || presence) await bringOver(server, postmaster, signal);
  return 'busy';
}

/**
 * Stops a server of an earlier version, which listens on TCP or whose program role is a superuser. Migrates the roles
 * in its data; the next attempt starts it again.
 */
async function bringOver(
  server: Server,
  postmaster: Postmaster,
  signal: AbortSignal,
): Promise<void> {
  const { log, files, account } = server;
  log.warn({ dataDir: files.home }, 'upgrading the embedded database from an earlier version');
  await stopServer(postmaster, account);
  if (postmaster.socketDirectory === null) return;
  await handOverData(server, signal).catch(async (error) => {
    // Another process may be migrating the same data at this moment.
    if ((await findPostmaster(files.data, signal)) === null) throw error;
  });
}

function notStarting(files: ServerFiles): LedgerError {
  return new LedgerError(
    'database-unreachable',
    `the embedded PostgreSQL in ${files.home} does not start: ${lastComplaint(files.log)}`,
    { cure: `read ${files.log}, or set DATABASE_URL to a server of your own` },
  );
}
