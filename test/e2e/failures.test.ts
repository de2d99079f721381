import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { listen } from '../support/listen.ts';
import { openRefusingPostgres } from '../support/refusing-postgres.ts';
import { type Ended, runProgram, startProgram } from '../support/run-cli.ts';
import { withService } from '../support/with-service.ts';

/** Without the log, a failure is one line: what, where, what to do. */
const quiet = { LOG_LEVEL: 'error' };

function expectLine({ code, stdout, stderr }: Ended, exitCode: number, ...words: string[]): void {
  expect(code).toBe(exitCode);
  expect(stdout).toBe('');
  // A command that takes long prints its progress before.
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

test('a taken port is named, and the way to another; the daemon ends with 1, so that its supervisor tries again', async () => {
  const { env } = await withService({ transactions: 10 });
  const port = String(await takenPort());
  const [daemon, sandbox] = await Promise.all([
    runProgram(['start'], { ...env, ...quiet, HTTP_PORT: port }),
    runProgram(['sandbox', '--port', port], quiet),
  ]);
  expectLine(daemon, 1, port, 'HTTP_PORT');
  expectLine(sandbox, 1, port, '--port 0');
}, 60_000);

test('a database that is not there, or refuses the login, ends with 5 and says what to check', async () => {
  const { env } = await withService({ transactions: 10 });
  const other = (change: (url: URL) => void): Record<string, string> => {
    const url = new URL(String(env['DATABASE_URL']));
    change(url);
    return { ...env, ...quiet, DATABASE_URL: url.href };
  };
  const nowhere = { DATABASE_URL: 'postgres://me:canary@127.0.0.1:9/none' };
  const [gone, waiting, unknown] = await Promise.all([
    runProgram(['status'], { ...quiet, ...nowhere }),
    runProgram(['status'], { LOG_LEVEL: 'warn', ...nowhere }),
    runProgram(
      ['status'],
      other((url) => {
        url.pathname = '/no_such_database';
      }),
    ),
  ]);
  expectLine(gone, 5, '127.0.0.1:9', 'check DATABASE_URL');
  expect(waiting.stderr.match(/waiting for the database/g)).toHaveLength(1);
  expect(gone.stderr + waiting.stderr).not.toContain('canary');
  expectLine(unknown, 5, 'no_such_database', 'create the database');
}, 60_000);

test('a database that lets no session begin on a full disk ends with 5 and says what to free', async () => {
  const { env } = await withService({ transactions: 0 });
  const full = await openRefusingPostgres('XX000', 'could not write init file');
  onTestFinished(() => full.close());
  const commands = [['status'], ['pool', 'list'], ['sync']];
  const ends = await Promise.all(
    commands.map((words) => runProgram(words, { ...env, DATABASE_URL: full.url })),
  );
  for (const { code, stderr } of ends)
    expect([code, stderr]).toEqual([
      5,
      expect.stringContaining('free space on the disk of PostgreSQL'),
    ]);
}, 60_000);

test('the port of another kind of server ends with 5 and says what to check', async () => {
  // Start of MySQL's initial handshake packet.
  const greeting = Buffer.from('4a0000000a382e302e333600', 'hex');
  const mysql = createServer((socket) => socket.on('error', () => undefined).write(greeting));
  onTestFinished(() => void mysql.close());
  const url = `postgres://reader:canary-password@127.0.0.1:${await listen(mysql)}/ledger`;
  expectLine(
    await runProgram(['status'], { ...quiet, DATABASE_URL: url }),
    5,
    'check DATABASE_URL',
  );
}, 60_000);

test('a service that is not there, or refuses, ends with 4 and says what to check', async () => {
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

test('Ctrl-C ends a backfill with 130, a supervisor with 1, and both say how to go on', async () => {
  const { env } = await withService({ transactions: 2_000 });
  const stopped = async (signal: NodeJS.Signals) => {
    const program = startProgram(['backfill'], { ...env, WALLET_MAX_RPS: '2' });
    await program.line('progress');
    program.process.kill(signal);
    return await program.ended;
  };
  const byHand = await stopped('SIGINT');
  const bySupervisor = await stopped('SIGTERM');
  expect([byHand.code, bySupervisor.code]).toEqual([130, 1]);
  for (const { stderr } of [byHand, bySupervisor]) expect(stderr).toMatch(/stopped by SIG.*; run/);
}, 60_000);

test('a daemon that is stopped while it starts ends with 0, as one that is stopped later', async () => {
  const { env } = await withService({ transactions: 10 });
  const DATABASE_URL = `postgres://nobody@127.0.0.1:${await freePort()}/none`;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const daemon = startProgram(['start'], { ...env, ...quiet, LOG_LEVEL: 'warn', DATABASE_URL });
    await daemon.line('waiting for the database');
    daemon.process.kill(signal);
    expect([signal, (await daemon.ended).code]).toEqual([signal, 0]);
  }
}, 60_000);

test('a stack is shown at LOG_LEVEL=debug', async () => {
  const { stderr } = await runProgram(['status'], { LOG_LEVEL: 'debug', WALLET_MAX_RPS: 'many' });
  expect(stderr).toMatch(/\bat \S+/);
});
