import type { CommandGroup } from './command-group.ts';

export const addDaemonCommand: CommandGroup = (program, run) => {
  program
    .command('start')
    .description(
      'run the daemon: keep ledger and address pools up to date and serve the status page',
    )
    .action(async () => {
      const { start } = await import('../commands/start.ts');
      await run.inContext(start, { needs: ['service'] });
    });
};
