import { abortableSleep } from '../kernel/abortable-sleep.ts';
import { LedgerError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import { findPostmaster } from './postmaster.ts';
import type { ServerAccount } from './server-account.ts';
import type { ServerBinaries } from './server-binaries.ts';
import type { ServerFiles } from './server-files.ts';
import { lastComplaint } from './server-log.ts';
import { joinServer, type ServerPresence } from './server-presence.ts';
import { startServer } from './start-server.ts';

/** What it takes to run the server. */
export type Server = {
  files: ServerFiles;
  binaries: ServerBinaries;
  account: ServerAccount;
  password: string;
  log: Log;
};

/** A place among the users of the running server. */
export type Seat = { port: number; presence: ServerPresence };

const attachMs = 120_000;
const startsMax = 4;
const pauseMs = 50;
const pauseMaxMs = 1000;

/**
 * Joins the running server, or starts one; repeats when others start or stop it at the same moment. Throws a
 * LedgerError 'database-unreachable' when the server fails to start again and again, or takes too long.
 */
export async function attach(server: Server, signal: AbortSignal): Promise<Seat> {
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
  { files, binaries, account, password }: Server,
  signal: AbortSignal,
): Promise<Seat | 'started' | 'failed' | 'busy'> {
  const postmaster = await findPostmaster(files.data, signal);
  if (!postmaster) {
    return (await startServer(files, binaries, account, signal)) ? 'started' : 'failed';
  }
  const { port, isReady } = postmaster;
  if (port === null || !isReady) return 'busy';
  const presence = await joinServer(port, password);
  return presence ? { port, presence } : 'busy';
}

function notStarting(files: ServerFiles): LedgerError {
  return new LedgerError(
    'database-unreachable',
    `the embedded PostgreSQL in ${files.home} does not start: ${lastComplaint(files.log)}`,
    { cure: `read ${files.log}, or set DATABASE_URL to a server of your own` },
  );
}
