import { Option } from 'commander';
import { type CommandGroup, jsonOption } from './command-group.ts';

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
    .option('--no-details', 'leave out the details, which cost a request per transaction')
    .option('--restart', 'read the lists from their first pages again')
    .action(async (options) => {
      const { backfill } = await import('../commands/backfill.ts');
      await run.inContext((context) => backfill(context, options));
    });
  program
    .command('sync')
    .argument(
      '[parts...]',
      'transactions, details, balances, coins, addresses, pools (default: all)',
    )
    .description('read what is new once, and end')
    .action(async (parts: string[]) => {
      const { sync } = await import('../commands/sync.ts');
      await run.inContext((context) => sync(context, parts));
    });
  program
    .command('verify')
    .description(
      "read everything again and compare it with the ledger, row by row; fields that only details have (fees), where the row no longer fits its seal. A seal shows careless changes, not a forger's: docs/guarantees.md says how to read all details again",
    )
    .option('--repair', 'write what is missing or different, unlist what is no longer there')
    .option(...jsonOption)
    .action(async (options) => {
      const { verify } = await import('../commands/verify.ts');
      await run.inContext((context) => verify(context, options));
    });
};
