import { type Command, Option } from 'commander';
import { calendarMonth, utcDay } from './argument-parsers.ts';
import { type CommandGroup, jsonOption, walletOption } from './command-group.ts';

const formats = ['hledger', 'beancount', 'ledger', 'csv', 'parquet'] as const;

/** Commands for accountants. */
export const addBookCommands: CommandGroup = (program, run) => {
  program
    .command('export')
    .description('write the books as a journal, CSV or Parquet, to standard output or a file')
    .addOption(
      new Option('--format <format>', 'the form of the books')
        .choices(formats)
        .makeOptionMandatory(),
    )
    .option('--from <day>', 'first UTC day, such as 2026-01-01 (default: the beginning)', utcDay)
    .option('--to <day>', 'last UTC day (default: the end)', utcDay)
    .option('--out <path>', 'write this file; it appears only when it is complete')
    .option(...walletOption)
    .action(async (options) => {
      const { exportBooks } = await import('../commands/export.ts');
      await run.inContext((context) => exportBooks(context, options), { scope: options });
    });
  addCloseCommand(program, run);
};

const addCloseCommand: CommandGroup = (program, run) => {
  const commands = () => import('../commands/close.ts');
  program
    .command('close')
    .argument('<month>', 'UTC month, such as 2026-03', calendarMonth)
    .description(
      'close a month: keep its books, so that its export never changes; `close list` lists closed months',
    )
    .option(...jsonOption)
    .option(...walletOption)
    .action(async (month: string, options) => {
      const { close } = await commands();
      await run.inContext((context) => close(context, month, options), {
        scope: options,
        needs: ['credentials'],
      });
    })
    .command('list')
    .description('list the closed months, and what came or changed after each was closed')
    .option(...jsonOption)
    .option(...walletOption)
    .action(async (_options: object, list: Command) => {
      const { closeList } = await commands();
      // The parent command `close` has the same options, so commander may assign it there.
      const options = list.optsWithGlobals();
      await run.inContext((context) => closeList(context, options), { scope: options });
    });
};
