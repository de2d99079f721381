import { chainCode } from './argument-parsers.ts';
import { type CommandGroup, jsonOption, walletOption } from './command-group.ts';

export const addPoolCommands: CommandGroup = (program, run) => {
  const pool = program
    .command('pool')
    .description('show and fill the address pools, take an address, adopt foreign addresses');
  const commands = () => import('../commands/pool.ts');
  pool
    .command('list')
    .description('show how many addresses each pool has, and how long they will last')
    .option(...jsonOption)
    .option(...walletOption)
    .action(async (options) => {
      const { poolList } = await commands();
      await run.inContext((context) => poolList(context, options), { scope: options });
    });
  addRefillCommand(pool, run);
  pool
    .command('take')
    .argument('<slip44>', 'code of the chain', chainCode)
    .description('hand out one address and print it')
    .option(
      '--reference <text>',
      'your name for the customer or order; the same reference gets the same address again',
    )
    .option(...walletOption)
    .action(async (slip44: number, options) => {
      const { poolTake } = await commands();
      await run.inContext((context) => poolTake(context, slip44, options), {
        scope: options,
        needs: ['credentials'],
      });
    });
  pool
    .command('adopt')
    .argument('<slip44>', 'code of the chain', chainCode)
    .argument('[address...]', 'only these addresses (default: all foreign addresses of the chain)')
    .description(
      'show the foreign addresses of a chain: the service lists them, this ledger did not generate them',
    )
    .option('--yes', 'make them available; do this only if no other program hands them out')
    .option(...jsonOption)
    .option(...walletOption)
    .action(async (slip44: number, addresses: string[], options) => {
      const { poolAdopt } = await commands();
      await run.inContext((context) => poolAdopt(context, slip44, addresses, options), {
        scope: options,
        needs: options.yes ? ['credentials'] : [],
      });
    });
};

const addRefillCommand: CommandGroup = (pool, run) => {
  pool
    .command('refill')
    .argument('[slip44]', 'code of the chain (default: every configured pool)', chainCode)
    .description('fill the pools to their targets now')
    .option(
      '--resume',
      'generate again on a chain that was stopped because the service sent an invalid address',
    )
    .option(...jsonOption)
    .option(...walletOption)
    .action(async (slip44: number | undefined, options) => {
      const { poolRefill } = await import('../commands/pool.ts');
      await run.inContext((context) => poolRefill(context, slip44, options), {
        scope: options,
        needs: ['service', 'pools'],
      });
    });
};
