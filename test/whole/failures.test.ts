import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { listen } from '../support/listen.ts';
import { type Ended, runProgram } from '../support/run-cli.ts';
import { withService } from '../support/with-service.ts';

/** Without the log, a failure is one line: what, where, what to do. */
const quiet = { LOG_LEVEL: 'error' };

function expectLine({ code, stdout, stderr }: Ended, exitCode: number, ...words: string[]): void {
  expect(code).toBe(exitCode);
  expect(stdout).toBe('');
  // What takes long tells of its progress before.
  const lines = stderr.split('\n').filter((line) => !line.startsWith('progress after'));
  expect(lines).toEqual([expect.stringMatching(/^wallet-ledger: .+; .+$/), '']);
  for (const word of words) expect(lines[0]).toContain(word);
}

async function takenPort(): Promise<number> {
  const server = createServer();
  onTestFinished(() => void server.close());
  return await listen(server);
}

test('a mistyped command line names what was meant, and the help that is nearest', async () => {
  const [command, nested, option, choice, value] = await Promise.all([
    runProgram(['bakfill']),
    runProgram(['pool', 'tak', '60']),
    runProgram(['status', '--jsn']),
    runProgram(['backfill', '--type', 'both']),
    runProgram(['pool', 'take', 'bitcoin']),
  ]);
  expectLine(command, 2, "'bakfill'", 'Did you mean backfill?', 'run `wallet-ledger --help`');
  expectLine(nested, 2, 'Did you mean take?', 'run `wallet-ledger pool --help`');
  expectLine(option, 2, 'Did you mean --json?', 'run `wallet-ledger status --help`');
  expectLine(choice, 2, 'deposit, withdraw', 'run `wallet-ledger backfill --help`');
  expectLine(value, 2, 'bitcoin', 'run `wallet-ledger pool take --help`');
});

test('the help ends with what a newcomer needs', async () => {
  const { stdout } = await runProgram(['--help']);
  for (const example of ['wallet-ledger demo', 'wallet-ledger doctor', 'wallet-ledger start'])
    expect(stdout.split('Examples:')[1]).toContain(example);
});

test('missing and mistaken settings are named, with 2', async () => {
  const [missing, mistaken] = await Promise.all([
    runProgram(['backfill'], quiet),
    runProgram(['status'], { ...quiet, WALLET_PAGE_SIZE: 'all' }),
  ]);
  expectLine(missing, 2, 'WALLET_BASE_URL', 'wallet-ledger demo');
  expectLine(mistaken, 2, 'WALLET_PAGE_SIZE', 'correct it in the environment');
});

test('a taken port is named, with 2 and the way to another', async () => {
  const { env } = await withService({ transactions: 10 });
  const port = String(await takenPort());
  const [daemon, sandbox] = await Promise.all([
    runProgram(['start'], { ...env, ...quiet, HTTP_PORT: port }),
    runProgram(['sandbox', '--port', port], quiet),
  ]);
  expectLine(daemon, 2, port, 'HTTP_PORT');
  expectLine(sandbox, 2, port, '--port 0');
}, 60_000);

test('a database that is not there, or lets nobody in, ends with 5 and what to look at', async () => {
  const { env } = await withService({ transactions: 10 });
  const other = (change: (url: URL) => void): Record<string, string> => {
    const url = new URL(String(env['DATABASE_URL']));
    change(url);
    return { ...env, ...quiet, DATABASE_URL: url.href };
  };
  const [gone, unknown] = await Promise.all([
    runProgram(['status'], { ...quiet, DATABASE_URL: 'postgres://me:canary@127.0.0.1:9/none' }),
    runProgram(
      ['status'],
      other((url) => {
        url.pathname = '/no_such_database';
      }),
    ),
  ]);
  expectLine(gone, 5, '127.0.0.1:9', 'check DATABASE_URL');
  expect(gone.stderr).not.toContain('canary');
  expectLine(unknown, 5, 'no_such_database', 'create the database');
}, 60_000);

test('a service that is not there, or refuses, ends with 4 and what to look at', async () => {
  const { env } = await withService({ transactions: 10 });
  const deaf = `127.0.0.1:${await freePort()}`;
  const [gone, refused] = await Promise.all([
    runProgram(['sync', 'coins'], { ...env, ...quiet, WALLET_BASE_URL: `http://${deaf}/api` }),
    runProgram(['sync', 'coins'], { ...env, ...quiet, WALLET_API_SECRET: 'canary' }),
  ]);
  expectLine(gone, 4, 'GET /v1/wallet/coin', deaf, 'check WALLET_BASE_URL');
  expectLine(refused, 4, 'GET /v1/wallet/coin', 'HTTP 401', 'check WALLET_API_SECRET');
  expect(refused.stderr).not.toContain('canary');
}, 60_000);

test('a stack is shown at LOG_LEVEL=debug', async () => {
  const { stderr } = await runProgram(['status'], { LOG_LEVEL: 'debug', WALLET_MAX_RPS: 'many' });
  expect(stderr).toMatch(/\bat \S+/);
});
