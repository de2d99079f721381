import { type Command, Option } from 'commander';
import { listOrders } from '../../kernel/vocabulary.ts';
import {
  decimal,
  integer,
  pageSize,
  port,
  queryNames,
  share,
  walletNames,
  webAddress,
} from './argument-parsers.ts';
import type { CommandGroup, CommandRunner } from './command-group.ts';

/** Commands that need neither a service nor a database. */
export const addTrialCommands: CommandGroup = (program, run) => {
  program
    .command('demo')
    .description(
      'try everything on this machine: embedded PostgreSQL, sandbox service, daemon and status page',
    )
    .option('--once', 'end after the first full sync')
    .addOption(
      new Option(
        '--wallets <names>',
        'names of the wallets, such as eu,us, or their number; each has its own key and history',
      ).argParser(walletNames),
    )
    .action(async (options) => {
      const { demo } = await import('../commands/demo.ts');
      await run.alone(demo(options));
    });
  addSandboxCommand(program, run);
};

const walletsOption = new Option(
  '--wallets <names>',
  'names of the wallets, such as eu,us, or their number; each has its own key, history and faults',
)
  .argParser(walletNames)
  .default(['main'], 'main');

const orderOption = new Option('--order <order>', 'order of the transaction lists')
  .choices([...listOrders, 'shuffled'])
  .default('newest-first');

const signerOption = new Option('--signer <recipe>', 'how requests must be signed')
  .choices([
    'params-secp256k1',
    'body-secp256k1',
    'body-ed25519',
    'concat-ecdsa',
    'params-hmac',
    'body-hmac',
    'none',
  ])
  .default('params-secp256k1');

function addSandboxCommand(program: Command, run: CommandRunner): void {
  program
    .command('sandbox')
    .description(
      'run an emulator of the wallet service, deterministic for a seed, and print the settings that connect to it',
    )
    .option('--port <n>', 'port to listen on; 0: a free one', port, 8090)
    .addOption(walletsOption)
    .option(
      '--transactions <n>',
      'number of transactions in the history of each wallet',
      integer,
      5_000,
    )
    .option(
      '--seed <n>',
      'seed of the generated wallets; the same seed gives the same wallets',
      integer,
      1,
    )
    .option('--fault <rate>', 'share of faulty answers, 0 to 1', share, 0)
    .option(
      '--rate <n>',
      'requests per second and wallet above which it answers 429; 0: no limit',
      decimal,
      0,
    )
    .option('--arrivals <n>', 'new transactions of each wallet per second', decimal, 1)
    .option(
      '--known-only',
      'send deposits only to addresses that exist at the start, so that no address gets one before it is handed out',
    )
    .option('--latency <ms>', 'milliseconds before each answer', integer, 0)
    .option('--page-size-max <n>', 'largest page size that it serves', pageSize, 100)
    .option(
      '--param-names <names>',
      'names of the query parameters, in the form of WALLET_PARAM_NAMES, such as page=pageNum,size=limit; those left out keep their names',
      queryNames,
    )
    .option(
      '--push <url>',
      'POST a hint there for each new or changed transaction, such as http://localhost:8080/hint/TOKEN',
      webAddress,
    )
    .addOption(orderOption)
    .addOption(signerOption)
    .action(async ({ fault, arrivals, latency, order, knownOnly = false, ...options }) => {
      const { sandbox } = await import('../commands/sandbox.ts');
      const given = {
        faultRate: fault,
        arrivalsPerSecond: arrivals,
        latencyMs: latency,
        listOrder: order,
        paysKnownOnly: knownOnly,
      };
      await run.inContext((context) => sandbox(context, { ...options, ...given }));
    });
}
