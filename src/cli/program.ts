import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { type CommandContext, runCommand } from './command-context.ts';

// Each command loads what it needs when it is called: `--help` and bad usage answer at once.

/** Runs the command line `argv` (without node and script); resolves to the exit code. */
export async function runProgram(argv: string[]): Promise<number> {
  let exitCode = 0;
  const end = (code: number): void => {
    exitCode = code;
  };
  const program = new Command('wallet-ledger')
    .description(
      'An exact, provably complete and always current copy of a custodial wallet in PostgreSQL',
    )
    .exitOverride()
    .showHelpAfterError('(add --help for the options)');
  addLedgerCommands(program, async (work) => end(await runCommand(work)));
  addPoolCommands(program, async (work) => end(await runCommand(work)));
  addRejectsCommand(program, async (work) => end(await runCommand(work)));
  addDoctorCommand(program, end);
  addDemoCommand(program, end);
  addSandboxCommand(program, async (work) => end(await runCommand(work)));
  try {
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    throw error;
  }
  return exitCode;
}

type Run = (work: (context: CommandContext) => Promise<number>) => Promise<void>;

function addLedgerCommands(program: Command, run: Run): void {
  program
    .command('start')
    .description(
      'the daemon: works the repeatable jobs and serves the status pages until it is told to stop',
    )
    .action(async () => run((await import('./commands/start.ts')).start));
  program
    .command('backfill')
    .description(
      'the whole history once, with details, balances, coins and addresses; resumes where it stopped',
    )
    .addOption(
      new Option('--type <type>', 'only deposits or only withdrawals').choices([
        'deposit',
        'withdraw',
      ]),
    )
    .option('--no-details', 'leave out the details of the rows')
    .option('--restart', 'read the list from its first page again')
    .action(async (options) => {
      const { backfill } = await import('./commands/backfill.ts');
      await run((context) => backfill(context, options));
    });
  program
    .command('sync')
    .argument(
      '[parts...]',
      'transactions, details, balances, coins, addresses, pools (default: all)',
    )
    .description('one pass over what is new, then exits')
    .action(async (parts: string[]) => {
      const { sync } = await import('./commands/sync.ts');
      await run((context) => sync(context, parts));
    });
  program
    .command('status')
    .description('what the ledger holds, whether it is proven complete, and what is wrong')
    .option('--json', 'one JSON document on stdout')
    .action(async (options) => {
      const { status } = await import('./commands/status.ts');
      await run((context) => status(context, options));
    });
  program
    .command('verify')
    .description('reads everything again and compares it with the ledger, row by row')
    .option('--repair', 'write what is missing or different, unlist what is no longer there')
    .option('--json', 'one JSON document on stdout')
    .action(async (options) => {
      const { verify } = await import('./commands/verify.ts');
      await run((context) => verify(context, options));
    });
  program
    .command('migrate')
    .description('brings the schema up to date')
    .option('--reader <role>', 'let this role read all tables and views of the schema ledger')
    .option('--issuer <role>', 'let this role call ledger.take_address, and nothing else')
    .action(async (options) => {
      const { migrateCommand } = await import('./commands/migrate.ts');
      await run((context) => migrateCommand(context, options));
    });
}

function addPoolCommands(program: Command, run: Run): void {
  const pool = program.command('pool').description('the address pools: look, take, adopt, refill');
  const commands = () => import('./commands/pool.ts');
  pool
    .command('list')
    .description('the level of every pool, and how long it will last')
    .option('--json', 'one JSON document on stdout')
    .action(async (options) => {
      const { poolList } = await commands();
      await run((context) => poolList(context, options));
    });
  pool
    .command('take')
    .argument('<slip44>', 'code of the chain', chainCode)
    .description('hands out one address and prints it')
    .option('--reference <text>', 'whom it is for: the same reference gets the same address again')
    .action(async (slip44: number, options) => {
      const { poolTake } = await commands();
      await run((context) => poolTake(context, slip44, options));
    });
  pool
    .command('adopt')
    .argument('<slip44>', 'code of the chain', chainCode)
    .description('makes available what the service listed although nobody here asked for it')
    .action(async (slip44: number) => {
      const { poolAdopt } = await commands();
      await run((context) => poolAdopt(context, slip44));
    });
  pool
    .command('refill')
    .argument('[slip44]', 'code of the chain (default: every configured pool)', chainCode)
    .description('fills the pools to their targets now')
    .action(async (slip44: number | undefined) => {
      const { poolRefill } = await commands();
      await run((context) => poolRefill(context, slip44));
    });
}

function addRejectsCommand(program: Command, run: Run): void {
  const commands = () => import('./commands/rejects.ts');
  program
    .command('rejects')
    .description('what could not be decoded, and why')
    .option('--json', 'one JSON document on stdout')
    .action(async (options) => {
      const { rejects } = await commands();
      await run((context) => rejects(context, options));
    })
    .command('retry')
    .argument(
      '[ids...]',
      'ids of rejects (default: all that are open)',
      (id: string, ids: number[] = []) => [...ids, integer(id)],
    )
    .description('decodes the payloads again, and stores what fits now')
    .action(async (ids: number[] = []) => {
      const { rejectsRetry } = await commands();
      await run((context) => rejectsRetry(context, ids));
    });
}

function addDoctorCommand(program: Command, end: (code: number) => void): void {
  program
    .command('doctor')
    .description('checks settings, service, database and Redis, and says for each what to do')
    .option('--json', 'one JSON document on stdout')
    .option('--try-variants', 'where the signature is refused, try other hashes and encodings')
    .option('--sign <method path...>', 'only print what is signed of a request; sends nothing')
    .action(async (options) => {
      const { doctor } = await import('./commands/doctor.ts');
      end(await doctor(options));
    });
}

function addDemoCommand(program: Command, end: (code: number) => void): void {
  program
    .command('demo')
    .description(
      'a whole wallet on this machine: embedded PostgreSQL, sandbox service, daemon and status page',
    )
    .option('--once', 'end after the first full sync')
    .action(async (options) => {
      const { demo } = await import('./commands/demo.ts');
      end(await demo(options));
    });
}

function addSandboxCommand(program: Command, run: Run): void {
  program
    .command('sandbox')
    .description(
      'an emulator of the wallet service, the same for the same seed; prints the settings that reach it',
    )
    .option('--port <n>', 'port to listen on; 0: a free one', integer, 8090)
    .option('--transactions <n>', 'transactions of the history', integer, 5_000)
    .option('--seed <n>', 'what the wallet is drawn from', integer, 1)
    .option('--fault <rate>', 'share of faulty answers, 0 to 1', decimal, 0)
    .option('--rate <n>', 'requests a second above which it answers 429; 0: no limit', decimal, 0)
    .option('--arrivals <n>', 'new transactions a second', decimal, 1)
    .option('--latency <ms>', 'milliseconds before each answer', integer, 0)
    .option('--page-size-max <n>', 'largest page it serves', integer, 100)
    .addOption(
      new Option('--order <order>', 'order of the transaction lists')
        .choices(['newest-first', 'oldest-first', 'unordered', 'shuffled'])
        .default('newest-first'),
    )
    .addOption(
      new Option('--signer <recipe>', 'how requests must be signed')
        .choices([
          'params-secp256k1',
          'body-secp256k1',
          'body-ed25519',
          'concat-ecdsa',
          'params-hmac',
          'body-hmac',
          'none',
        ])
        .default('params-secp256k1'),
    )
    .action(async ({ fault, arrivals, latency, order, ...options }) => {
      const { sandbox } = await import('./commands/sandbox.ts');
      const given = {
        faultRate: fault,
        arrivalsPerSecond: arrivals,
        latencyMs: latency,
        listOrder: order,
      };
      await run((context) => sandbox(context, { ...options, ...given }));
    });
}

function integer(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('a whole number is expected');
  return Number(text);
}

/** As the registered codes are: below 2 to the power of 31. */
function chainCode(text: string): number {
  const code = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(code < 2 ** 31)) throw new InvalidArgumentError('the slip44 code of a chain is expected');
  return code;
}

function decimal(text: string): number {
  if (!/^\d{1,9}(\.\d{1,9})?$/.test(text)) throw new InvalidArgumentError('a number is expected');
  return Number(text);
}
