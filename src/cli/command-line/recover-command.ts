import { type CommandGroup, jsonOption } from './command-group.ts';

export const addRecoverCommand: CommandGroup = (program, run) => {
  program
    .command('recover')
    .description(
      'after a restore or a failover: show what was found, and record which addresses were handed out',
    )
    .option(
      '--handed-out <file>',
      'CSV of slip44, address, reference: mark these addresses as handed out',
    )
    .option('--same', 'nothing was lost: make the addresses that were set aside available again')
    .option('--wallet <name>', 'with --handed-out: the wallet of these addresses, one of WALLETS')
    .option(...jsonOption)
    .action(async (options) => {
      const scope = options.handedOut === undefined ? undefined : options;
      const { recover } = await import('../commands/recover.ts');
      const isChange = options.handedOut !== undefined || options.same;
      await run.inContext((context) => recover(context, options), {
        scope,
        needs: isChange ? ['credentials'] : [],
      });
    });
};
