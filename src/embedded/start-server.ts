import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { abortableSleep } from '../kernel/abortable-sleep.ts';
import { readPostmaster } from './postmaster.ts';
import { serverEnvironment } from './run-server-program.ts';
import type { ServerAccount } from './server-account.ts';
import type { ServerBinaries } from './server-binaries.ts';
import type { ServerFiles } from './server-files.ts';
import { openServerLog } from './server-log.ts';

const pollMs = 25;

/** Given on the command line, so that they hold for a directory of any age. */
const serverSettings = {
  listen_addresses: '127.0.0.1',
  // No socket file: its path may be 107 bytes long at the most.
  unix_socket_directories: '',
  shared_buffers: '128MB',
  max_connections: '100',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
};

/**
 * Starts a server on the data directory, on the port of the last time if that is free, and waits until it is ready. Returns false when it ended instead: another
 * process may have started one at the same moment. When the signal aborts, stops it again and throws.
 */
export async function startServer(
  files: ServerFiles,
  binaries: ServerBinaries,
  account: ServerAccount,
  signal: AbortSignal,
): Promise<boolean> {
  const port = await choosePort(files.data);
  const child = spawnServer(files, binaries, account, port);
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
  port: number,
): ChildProcess {
  const settings = Object.entries({ ...serverSettings, port }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  const command = account.command(binaries.postgres, ['-D', files.data, ...settings]);
  const log = openServerLog(files.log);
  try {
    const child = spawn(command.program, command.args, {
      ...command.credentials,
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

async function choosePort(data: string): Promise<number> {
  const port = await listenOnce(lastPort(data)).catch(() => listenOnce(0));
  if (port === undefined) throw new Error('no free TCP port on 127.0.0.1');
  return port;
}

/** A server that comes back where it was is found again by those that still use it. */
function lastPort(data: string): number {
  try {
    return Number(
      /"port=(\d+)"/.exec(readFileSync(join(data, 'postmaster.opts'), 'utf8'))?.[1] ?? 0,
    );
  } catch {
    return 0;
  }
}

/** Takes the port (0: any) for a moment; rejects when it is in use. */
async function listenOnce(port: number): Promise<number | undefined> {
  const probe = createServer().listen(port, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  await once(probe.close(), 'close');
  return typeof address === 'object' ? address?.port : undefined;
}
