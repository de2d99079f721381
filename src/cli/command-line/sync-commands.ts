import { Argument, Option } from 'commander';
import { type TaskName, taskNames } from '../../kernel/vocabulary.ts';
import { type CommandGroup, jsonOption, walletOption } from './command-group.ts';

/** Commands that write the ledger once and then end. */
export const addLedgerCommands: CommandGroup = (program, run) => {
  program
    .command('backfill')
    .description(
      'read the whole history once, with details, balances, coins and addresses; resumes where it stopped',
    )
    .addOption(
      new Option('--type <type>', 'only deposits or only withdrawals (default: both)').choices([
        'deposit',
        'withdraw',
      ]),
    )
    .option('--no-details', 'do not fetch details, which cost one request per transaction')
    .option('--restart', 'start again at the first page of each list')
    .option(...jsonOption)
    .option(...walletOption)
    .action(async (options) => {
      const { backfill } = await import('../commands/backfill.ts');
      await run.inContext((context) => backfill(context, options), {
        scope: options,
        needs: ['service'],
      });
    });
  program
    .command('sync')
    .addArgument(new Argument('[tasks...]', 'default: all').choices(taskNames))
    .description('run one incremental pass of each named task, then exit')
    .option(...jsonOption)
    .option(...walletOption)
    .action(async (named: TaskName[], options) => {
      const { sync } = await import('../commands/sync.ts');
      await run.inContext((context) => sync(context, named, options), {
        scope: options,
        needs: ['service'],
      });
    });
  program
    .command('verify')
    .description(
      'read the whole history again and compare it with the ledger row by row. Fields that only details have, such as fees, are compared for rows that no longer match their seal or whose detail could not be read; docs/guarantees.md says how to compare them for all rows',
    )
    .option(
      '--repair',
      'write missing and different rows, and mark rows that the service no longer lists',
    )
    .option(...jsonOption)
    .option(...walletOption)
    .action(async (options) => {
      const { verify } = await import('../commands/verify.ts');
      await run.inContext((context) => verify(context, options), {
        scope: options,
        needs: ['service'],
      });
    });
};
