import { execFile } from 'node:child_process';
import { LedgerError } from '../kernel/errors.ts';
import type { ServerAccount } from './server-account.ts';

/** Minimal environment: ours has secrets, and the server outlives this process. */
export const serverEnvironment = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/**
 * Runs one of PostgreSQL's programs to its end, with `input` on its stdin. Throws LedgerError `database-unreachable`
 * with the last lines of its output, or the signal's reason.
 */
export async function runServerProgram(
  account: ServerAccount,
  program: string,
  args: readonly string[],
  options: { input?: string; signal?: AbortSignal } = {},
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const child = execFile(
      program,
      args,
      {
        ...account.owner,
        cwd: '/',
        env: serverEnvironment,
        maxBuffer: 2 ** 24,
        ...(options.signal && { signal: options.signal }),
      },
      (error, stdout, stderr) => {
        if (!error) return resolve();
        if (options.signal?.aborted) return reject(options.signal.reason);
        const said = (stderr.trim() || stdout.trim() || error.message).split('\n').slice(-3);
        reject(
          new LedgerError('database-unreachable', `${program} failed: ${said.join(' ')}`, {
            cause: error,
            cure: 'read the message of PostgreSQL above, or set DATABASE_URL to a server of your own',
          }),
        );
      },
    );
    // A program that ended early has closed its stdin; its exit code has the result.
    child.stdin?.on('error', () => undefined).end(options.input ?? '');
  });
}
