import { Option } from 'commander';
import { type CommandGroup, jsonOption, keptWalletOption } from './command-group.ts';

/** Commands that only inspect: none writes transactions, addresses or settings. */
export const addCheckCommands: CommandGroup = (program, run) => {
  program
    .command('status')
    .description('show what needs attention, whether the ledger is proven complete, and the pools')
    .option(...jsonOption)
    .option('--check', 'exit with code 3 while there is a problem')
    .addOption(
      new Option('--watch', 'show it again every 5 seconds, until Ctrl-C').conflicts([
        'json',
        'check',
      ]),
    )
    .option('--wallet <name>', 'only this wallet of WALLETS')
    .action(async (options) => {
      const { status } = await import('../commands/status.ts');
      await run.inContext((context) => status(context, options));
    });
  program
    .command('show')
    .argument('<text>', 'an order number, a request id, a transaction hash or an address')
    .description(
      'show everything the ledger has about it: the row, its history, its address, and what is uncertain',
    )
    .option(...jsonOption)
    .option(...keptWalletOption)
    .action(async (text: string, options) => {
      const { show } = await import('../commands/show.ts');
      await run.inContext((context) => show(context, text, options), {
        scope: options,
        mayRest: true,
      });
    });
  program
    .command('tail')
    .description('follow the change feed: one line for each event from now on, until Ctrl-C')
    .option('--json', 'print each event as one line of JSON')
    .action(async (options) => {
      const { tail } = await import('../commands/tail.ts');
      await run.inContext((context) => tail(context, options));
    });
  program
    .command('doctor')
    .description('check settings, service, database and Redis, and say how to correct each problem')
    .option(...jsonOption)
    .option(
      '--try-variants',
      'if the signature is refused, try other recipes, hashes and encodings',
    )
    .option(
      '--sign <method path...>',
      'print the string to sign of a request, such as GET /v1/wallet/coin, without sending it',
    )
    .option(
      '--wallet <name>',
      'only this wallet of WALLETS; needed with --sign where several are set',
    )
    .action(async (options) => {
      const { doctor } = await import('../commands/doctor.ts');
      await run.alone(doctor(options));
    });
};
