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

/** Given on the command line, so that they hold for a directory of any age. */
const serverSettings = {
  // A port of this machine is open to all its users, and after a crash to whoever takes it first.
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
 * Starts a server on the data directory and waits until it is ready. Returns false when it ended instead: another
 * process may have started one at the same moment. When the signal aborts, stops it again and throws.
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
      // A session of its own: Ctrl-C in our terminal is not meant for it.
      detached: true,
      stdio: ['ignore', log, log],
    });
    child.unref();
    return child;
  } finally {
    closeSync(log);
  }
}

/** The setting is a list: a path with a comma or a space would be several. */
function quoted(path: string): string {
  return `"${path.replaceAll('"', '""')}"`;
}
