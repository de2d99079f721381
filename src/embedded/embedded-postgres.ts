import { abortableSleep } from '../kernel/abortable-sleep.ts';
import { LedgerError, toError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import { attach, type Seat, type Server } from './attach-server.ts';
import { databaseName, initialiseData, userName } from './initialise-data.ts';
import { chooseServerAccount } from './server-account.ts';
import { locateServerBinaries } from './server-binaries.ts';
import { ensurePassword, locateServerFiles, makeHome, type ServerFiles } from './server-files.ts';
import type { ServerPresence } from './server-presence.ts';
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
  const files = locateServerFiles(options.dataDir);
  try {
    const server = await prepareServer(files, options.log, signal);
    const seat = await attach(server, signal);
    options.log.debug({ port: seat.port, dataDir: files.home }, 'embedded database in use');
    return {
      connectionString: `postgres://${userName}:${server.password}@127.0.0.1:${seat.port}/${databaseName}`,
      close: keepSeat(server, seat),
    };
  } catch (error) {
    signal.throwIfAborted();
    throw described(error, files);
  }
}

async function prepareServer(files: ServerFiles, log: Log, signal: AbortSignal): Promise<Server> {
  const binaries = await locateServerBinaries();
  await makeHome(files);
  const account = await chooseServerAccount(files, binaries);
  const password = await ensurePassword(files, account.owner);
  await initialiseData(files, binaries, account, signal);
  return { files, binaries, account, password, log };
}

/** Takes the seat again whenever it is lost. Returns the function that gives it up. */
function keepSeat(server: Server, first: Seat): () => Promise<void> {
  const closing = new AbortController();
  let seat = first;

  const watch = async () => {
    while (!closing.signal.aborted) {
      await seat.presence.ended;
      if (closing.signal.aborted) return;
      server.log.warn({ port: first.port }, 'lost the embedded database; joining it again');
      seat = await rejoin(server, first.port, closing.signal);
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

async function rejoin(server: Server, port: number, signal: AbortSignal): Promise<Seat> {
  for (;;) {
    try {
      const seat = await attach(server, signal);
      if (seat.port === port) server.log.info({ port }, 'the embedded database is back');
      else server.log.error({ port }, 'the embedded database moved; start this process again');
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
    if (isLast) await stopServer(server.files.data);
  } finally {
    await presence.end();
  }
}

function described(error: unknown, files: ServerFiles): LedgerError {
  if (error instanceof LedgerError) return error;
  return new LedgerError(
    'database-unreachable',
    `the embedded PostgreSQL in ${files.home} cannot be opened: ${toError(error).message}`,
    {
      cause: error,
      cure: 'set LEDGER_DATA_DIR to a directory that this user may write, or DATABASE_URL to a server of your own',
    },
  );
}
