import { chainCode } from './argument-parsers.ts';
import { type CommandGroup, jsonOption } from './command-group.ts';

export const addPoolCommands: CommandGroup = (program, run) => {
  const pool = program
    .command('pool')
    .description('look at the address pools, fill them, take an address, adopt foreign ones');
  const commands = () => import('../commands/pool.ts');
  pool
    .command('list')
    .description('show the level of every pool, and how long it will last')
    .option(...jsonOption)
    .action(async (options) => {
      const { poolList } = await commands();
      await run.inContext((context) => poolList(context, options));
    });
  pool
    .command('refill')
    .argument('[slip44]', 'code of the chain (default: every configured pool)', chainCode)
    .description('fill the pools to their targets now')
    .option('--resume', 'after a text that is no address stopped a chain: you have looked into it')
    .option(...jsonOption)
    .action(async (slip44: number | undefined, options) => {
      const { poolRefill } = await commands();
      await run.inContext((context) => poolRefill(context, slip44, options));
    });
  pool
    .command('take')
    .argument('<slip44>', 'code of the chain', chainCode)
    .description('hand out one address and print it')
    .option('--reference <text>', 'whom it is for: the same reference gets the same address again')
    .action(async (slip44: number, options) => {
      const { poolTake } = await commands();
      await run.inContext((context) => poolTake(context, slip44, options));
    });
  pool
    .command('adopt')
    .argument('<slip44>', 'code of the chain', chainCode)
    .argument('[address...]', 'only these')
    .description(
      'show what the service listed although nobody here asked for it; take it with --yes',
    )
    .option('--yes', 'make it available: you know that nobody else hands it out')
    .action(async (slip44: number, addresses: string[], options) => {
      const { poolAdopt } = await commands();
      await run.inContext((context) => poolAdopt(context, slip44, addresses, options));
    });
};
