import { abortableSleep } from '../kernel/abortable-sleep.ts';
import { LedgerError, toError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import { acquireServer, type Server, type ServerHandle } from './acquire-server.ts';
import { preparePlace } from './choose-place.ts';
import { initialiseData } from './initialise-data.ts';
import { readPostmaster } from './postmaster.ts';
import { locateReachableBinaries } from './server-binaries.ts';
import { ensurePassword } from './server-files.ts';
import type { ServerPresence } from './server-presence.ts';
import { databaseName, userName } from './server-roles.ts';
import { serverPort } from './socket-path.ts';
import { stopServer } from './stop-server.ts';

export type EmbeddedPostgres = {
  connectionString: string;
  /** Leaves the server, and stops it when nobody else uses it. */
  close(): Promise<void>;
};

const rejoinPauseMs = 5000;

/**
 * Opens the embedded PostgreSQL in `dataDir`: makes it at first, starts it where it does not run, joins it where it
 * does, whoever started it. Processes share it; the last one to close stops it. When it dies, it is started again
 * where it was. Throws a LedgerError 'database-unreachable' that says what stands in the way.
 */
export async function openEmbeddedPostgres(options: {
  dataDir: string;
  log: Log;
  signal?: AbortSignal;
}): Promise<EmbeddedPostgres> {
  const signal = options.signal ?? new AbortController().signal;
  try {
    const server = await prepareServer(options.dataDir, options.log, signal);
    const seat = await acquireServer(server, signal);
    options.log.debug({ dataDir: server.files.home }, 'embedded database in use');
    return {
      connectionString: addressOf(seat.socketDirectory, server.password),
      close: keepSeat(server, seat),
    };
  } catch (error) {
    signal.throwIfAborted();
    throw described(error, options.dataDir);
  }
}

async function prepareServer(dataDir: string, log: Log, signal: AbortSignal): Promise<Server> {
  const { files, account } = await preparePlace(dataDir, log, signal);
  const binaries = await locateReachableBinaries(account);
  const password = await ensurePassword(files, account.owner);
  const server = { files, binaries, account, password, log };
  await initialiseData(server, signal);
  return server;
}

/** Clients take the socket's directory from the parameter, and then its number from where a port stands. */
function addressOf(socketDirectory: string, password: string): string {
  const host = encodeURIComponent(socketDirectory);
  return `postgres://${userName}:${encodeURIComponent(password)}@localhost:${serverPort}/${databaseName}?host=${host}`;
}

/** Takes the seat again whenever it is lost. Returns the function that gives it up. */
function keepSeat(server: Server, first: ServerHandle): () => Promise<void> {
  const closing = new AbortController();
  let seat = first;

  const watch = async () => {
    while (!closing.signal.aborted) {
      await seat.presence.ended;
      if (closing.signal.aborted) return;
      server.log.warn({}, 'lost the embedded database; joining it again');
      seat = await rejoin(server, first.socketDirectory, closing.signal);
    }
    await leave(server, seat.presence);
  };
  const watched = watch().catch((error: unknown) => {
    // Closing interrupts a rejoin; nothing is left to give up then.
    if (!closing.signal.aborted) throw error;
  });

  const close = async () => {
    closing.abort();
    await leave(server, seat.presence);
    await watched;
  };
  let closed: Promise<void> | undefined;
  return () => {
    closed ??= close();
    return closed;
  };
}

async function rejoin(
  server: Server,
  expected: string,
  signal: AbortSignal,
): Promise<ServerHandle> {
  for (;;) {
    try {
      const seat = await acquireServer(server, signal);
      if (seat.socketDirectory === expected) server.log.info({}, 'the embedded database is back');
      else server.log.error({}, 'the embedded database moved; start this process again');
      return seat;
    } catch (error) {
      signal.throwIfAborted();
      server.log.error({ error }, 'the embedded database is lost');
      await abortableSleep(rejoinPauseMs, signal);
    }
  }
}

async function leave(server: Server, presence: ServerPresence): Promise<void> {
  // Where the server is gone, there is nothing to leave.
  const isLast = await presence.leave().catch(() => false);
  try {
    const postmaster = isLast ? readPostmaster(server.files.data) : null;
    if (postmaster) await stopServer(postmaster, server.account);
  } finally {
    await presence.end();
  }
}

function described(error: unknown, dataDir: string): LedgerError {
  if (error instanceof LedgerError) return error;
  return new LedgerError(
    'database-unreachable',
    `the embedded PostgreSQL in ${dataDir} cannot be opened: ${toError(error).message}`,
    {
      cause: error,
      cure: 'set LEDGER_DATA_DIR to a directory that this user may write, or DATABASE_URL to a server of your own',
    },
  );
}
