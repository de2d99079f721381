import type { CommandGroup } from './command-group.ts';

export const addDatabaseCommand: CommandGroup = (program, run) => {
  program
    .command('migrate')
    .description('bring the schema up to date, and give roles their rights')
    .option('--reader <role>', 'let this role read all tables and views of the schema ledger')
    .option('--issuer <role>', 'let this role call ledger.take_address, and nothing else')
    .option(
      '--wallet-key',
      'after the key was rotated or the service has moved: the ledger belongs to the wallet of the settings',
    )
    .action(async (options) => {
      const { migrateCommand } = await import('../commands/migrate.ts');
      await run.inContext((context) => migrateCommand(context, options));
    });
};
