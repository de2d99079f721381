import { Option } from 'commander';
import { utcDay } from './argument-parsers.ts';
import type { CommandGroup } from './command-group.ts';

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
    .option('--out <path>', 'write this file; it appears only when it is whole')
    .action(async (options) => {
      const { exportBooks } = await import('../commands/export.ts');
      await run.inContext((context) => exportBooks(context, options));
    });
};
