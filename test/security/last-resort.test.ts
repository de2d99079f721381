import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { startProgram } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { withService } from '../support/with-service.ts';

/** A module that Node loads before the program. */
function preload(source: string): string {
  const folder = temporaryFolder();
  const path = join(folder, 'preload.mjs');
  writeFileSync(path, source);
  return `--import ${pathToFileURL(path)}`;
}

/** Runs a daemon that runs the code of a fault once it listens. */
async function endOfDaemon(fault: string) {
  const { env } = await withService({ transactions: 20 });
  const daemon = startProgram(['start'], {
    ...env,
    NODE_OPTIONS: preload(`process.on('SIGUSR2', () => { ${fault}; });`),
  });
  await daemon.line('"listening"');
  daemon.process.kill('SIGUSR2');
  return { ...(await daemon.ended), env };
}

test.each([
  ['an exception', 'throw new Error(`lost: ${process.env.WALLET_API_SECRET}`)'],
  ['a rejection', 'Promise.reject(new Error(`lost: ${process.env.WALLET_API_SECRET}`))'],
])(
  '[S15] %s that nobody catches ends the daemon with 1, and shows no secret',
  async (_, fault) => {
    const { code, stdout, stderr, env } = await endOfDaemon(fault);
    expect(code).toBe(1);
    expect(stderr).toMatch(/lost: /);
    expect(stdout + stderr).not.toContain(env['WALLET_API_SECRET']);
  },
  60_000,
);

test('a lost connection that nobody catches ends the daemon with 5 and the cure, not as a bug', async () => {
  const fault = `throw Object.assign(new Error('terminating connection'), { code: '57P01' })`;
  const { code, stderr } = await endOfDaemon(fault);
  expect([code, stderr]).toEqual([5, expect.stringContaining('check DATABASE_URL')]);
}, 60_000);

test('a pipe whose reader has left is not taken for the database', async () => {
  const fault = `throw Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })`;
  const { code, stderr } = await endOfDaemon(fault);
  expect([code, stderr]).toEqual([1, expect.not.stringContaining('DATABASE_URL')]);
}, 60_000);
