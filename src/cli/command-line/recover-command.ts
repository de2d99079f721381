import { type CommandGroup, jsonOption } from './command-group.ts';

export const addRecoverCommand: CommandGroup = (program, run) => {
  program
    .command('recover')
    .description('after a restore or a failover: show what was found, and say what became of it')
    .option(
      '--handed-out <file>',
      'CSV of chain (slip44), address, reference: these addresses were handed out',
    )
    .option('--same', 'it was a clean move: what was set aside becomes available again')
    .option(...jsonOption)
    .action(async (options) => {
      const { recover } = await import('../commands/recover.ts');
      await run.inContext((context) => recover(context, options));
    });
};
