import { type CommandGroup, jsonOption } from './command-group.ts';

/** Commands that only inspect: none writes transactions, addresses or settings. */
export const addCheckCommands: CommandGroup = (program, run) => {
  program
    .command('status')
    .description('show what needs attention, whether the ledger is proven complete, and the pools')
    .option(...jsonOption)
    .option('--check', 'end with exit code 3 while a problem stands')
    .action(async (options) => {
      const { status } = await import('../commands/status.ts');
      await run.inContext((context) => status(context, options));
    });
  program
    .command('show')
    .argument('<text>', 'an order number, a request id, a transaction hash or an address')
    .description(
      'show all that the ledger knows of it: the row, its history, its address, its doubts',
    )
    .option(...jsonOption)
    .action(async (text: string, options) => {
      const { show } = await import('../commands/show.ts');
      await run.inContext((context) => show(context, text, options));
    });
  program
    .command('doctor')
    .description('check settings, service, database and Redis, and say for each what to do')
    .option(...jsonOption)
    .option('--try-variants', 'where the signature is refused, try other hashes and encodings')
    .option(
      '--sign <method path...>',
      'only print what is signed of a request, such as GET /v1/wallet/coin; sends nothing',
    )
    .action(async (options) => {
      const { doctor } = await import('../commands/doctor.ts');
      await run.alone(doctor(options));
    });
};
