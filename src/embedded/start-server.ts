import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { abortableSleep } from '../kernel/abortable-sleep.ts';
import { readPostmaster } from './postmaster.ts';
import { serverEnvironment } from './run-server-program.ts';
import type { ServerAccount } from './server-account.ts';
import type { ServerBinaries } from './server-binaries.ts';
import type { ServerFiles } from './server-files.ts';
import { openServerLog } from './server-log.ts';
import { prepareSocketDirectory, serverPort } from './socket-path.ts';

const pollMs = 25;

/** Settings on the command line, so that they apply to a data directory of any version. */
const serverSettings = {
  // A TCP port is open to all users of this machine, and after a crash another process could take it.
  listen_addresses: '',
  port: String(serverPort),
  unix_socket_permissions: '0700',
  shared_buffers: '128MB',
  max_connections: '100',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
};

/**
 * Starts a server on the data directory and waits until it is ready. Returns false when it ended early, for example
 * because another process started one at the same moment. When the signal aborts, stops the server and throws.
 */
export async function startServer(
  files: ServerFiles,
  binaries: ServerBinaries,
  account: ServerAccount,
  signal: AbortSignal,
): Promise<boolean> {
  const socketDirectory = await prepareSocketDirectory(files);
  const child = spawnServer(files, binaries, account, socketDirectory);
  let hasEnded = false;
  child.once('exit', () => {
    hasEnded = true;
  });
  child.once('error', () => {
    hasEnded = true;
  });
  try {
    while (!hasEnded) {
      const postmaster = readPostmaster(files.data);
      if (postmaster?.pid === child.pid && postmaster?.isReady) return true;
      await abortableSleep(pollMs, signal);
    }
    return false;
  } catch (error) {
    if (!hasEnded) child.kill('SIGINT');
    throw error;
  }
}

function spawnServer(
  files: ServerFiles,
  binaries: ServerBinaries,
  account: ServerAccount,
  socketDirectory: string,
): ChildProcess {
  const all = { ...serverSettings, unix_socket_directories: quoted(socketDirectory) };
  const settings = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const log = openServerLog(files.log);
  try {
    const child = spawn(binaries.postgres, ['-D', files.data, ...settings], {
      ...account.owner,
      cwd: '/',
      env: serverEnvironment,
      // Starts a new session, so that Ctrl-C in our terminal does not reach the server.
      detached: true,
      stdio: ['ignore', log, log],
    });
    child.unref();
    return child;
  } finally {
    closeSync(log);
  }
}

/** Quotes the path, because the setting is a list of paths. */
function quoted(path: string): string {
  return `"${path.replaceAll('"', '""')}"`;
}
