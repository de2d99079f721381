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
    .option(
      '--same',
      'nothing was lost in the move: make the addresses that it set aside available again; refused while several moves are not recorded',
    )
    .option(
      '--every-move',
      'with --same: nothing was lost in any of the moves that are not recorded',
    )
    .option(
      '--wallet <name>',
      'one of WALLETS; --handed-out needs it where several are set, --same concerns all without it',
    )
    .option(...jsonOption)
    .action(async (options) => {
      const isOfOne = options.handedOut !== undefined || options.wallet !== undefined;
      const scope = isOfOne ? options : undefined;
      const { recover } = await import('../commands/recover.ts');
      const isChange = options.handedOut !== undefined || options.same;
      await run.inContext((context) => recover(context, options), {
        scope,
        needs: isChange ? ['credentials'] : [],
      });
    });
};
