import type { CommandGroup } from './command-group.ts';

export const addDatabaseCommand: CommandGroup = (program, run) => {
  program
    .command('migrate')
    .description('bring the schema up to date, and give roles their rights')
    .option('--reader <role>', 'let this role read all tables and views of the schema ledger')
    .option(
      '--issuer <role>',
      'let this role call ledger.take_address, ledger.take_further_address and ledger.hint, and nothing else',
    )
    .option(
      '--consumer <role>',
      'let this role read the change feed and acknowledge its events, and nothing else',
    )
    .option(
      '--publication <name>',
      'publish the tables of the schema ledger under this name, for logical replication',
    )
    .option(
      '--wallet-key',
      'after a key rotation or a new service address: record the configured wallet as the owner of the ledger, if the service shows that it is still the same wallet',
    )
    .option(
      '--wallet <name>',
      'with --wallet-key: the wallet; with --reader: the only one whose rows the role sees. It does not limit the other roles',
    )
    .action(async (options) => {
      const isOfOne = options.wallet !== undefined || options.walletKey;
      const scope = isOfOne ? options : undefined;
      const { migrateCommand } = await import('../commands/migrate.ts');
      await run.inContext((context) => migrateCommand(context, options), {
        scope,
        needs: options.walletKey ? ['service'] : [],
      });
    });
};
