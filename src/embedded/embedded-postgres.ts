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
import { isUnusablePath } from './unusable-path.ts';

export type EmbeddedPostgres = {
  connectionString: string;
  /** Leaves the server, and stops it when no other process uses it. */
  close(): Promise<void>;
};

const rejoinPauseMs = 5000;

/**
 * Opens the embedded PostgreSQL in `dataDir`: creates it, starts it or joins it, as needed. Processes share it, and the
 * last one to close stops it. A server that dies is started again in the same place. Throws a LedgerError with the
 * reason: `settings` for untrusted or unusable paths, otherwise `database-unreachable`.
 */
export async function openEmbeddedPostgres(options: {
  dataDir: string;
  log: Log;
  signal?: AbortSignal;
}): Promise<EmbeddedPostgres> {
  const signal = options.signal ?? new AbortController().signal;
  try {
    const server = await prepareServer(options.dataDir, options.log, signal);
    const handle = await acquireServer(server, signal);
    options.log.debug({ dataDir: server.files.home }, 'embedded database in use');
    return {
      connectionString: addressOf(handle.socketDirectory, server.password),
      close: keepJoined(server, handle),
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

/**
 * Builds the URL: clients take the socket's directory from `host` in the query, and its number from the port. TLS is
 * disabled in it, because a socket has none and PGSSLMODE in the environment might require it.
 */
function addressOf(socketDirectory: string, password: string): string {
  const host = encodeURIComponent(socketDirectory);
  return `postgres://${userName}:${encodeURIComponent(password)}@localhost:${serverPort}/${databaseName}?host=${host}&sslmode=disable`;
}

/** Joins the server again whenever the connection is lost. Returns the function that leaves it. */
function keepJoined(server: Server, first: ServerHandle): () => Promise<void> {
  const closing = new AbortController();
  let handle = first;

  const watch = async () => {
    while (!closing.signal.aborted) {
      await handle.presence.ended;
      if (closing.signal.aborted) return;
      server.log.warn({}, 'connection to the embedded database lost; reconnecting');
      handle = await rejoin(server, first.socketDirectory, closing.signal);
    }
    await leave(server, handle.presence);
  };
  const watched = watch().catch((error: unknown) => {
    // Closing interrupts a rejoin; then there is no connection to release.
    if (!closing.signal.aborted) throw error;
  });

  const close = async () => {
    closing.abort();
    await leave(server, handle.presence);
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
      const handle = await acquireServer(server, signal);
      if (handle.socketDirectory === expected)
        server.log.info({}, 'connected to the embedded database again');
      else
        server.log.error({}, 'the embedded database now has another address; restart this process');
      return handle;
    } catch (error) {
      signal.throwIfAborted();
      server.log.error(
        { error: toError(error) },
        'the embedded database does not answer; restart this process',
      );
      await abortableSleep(rejoinPauseMs, signal);
    }
  }
}

async function leave(server: Server, presence: ServerPresence): Promise<void> {
  // A failure means that the server is no longer running.
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
    isUnusablePath(error) ? 'settings' : 'database-unreachable',
    `the embedded PostgreSQL in ${dataDir} cannot be opened: ${toError(error).message}`,
    {
      cause: error,
      cure: 'set LEDGER_DATA_DIR to a directory that this user may write, or DATABASE_URL to a server of your own',
    },
  );
}
