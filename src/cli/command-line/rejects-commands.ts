import type { Command } from 'commander';
import { integer } from './argument-parsers.ts';
import { type CommandGroup, jsonOption, walletOption } from './command-group.ts';

export const addRejectsCommands: CommandGroup = (program, run) => {
  const commands = () => import('../commands/rejects.ts');
  program
    .command('rejects')
    .description(
      'list the values that could not be decoded, and why; `rejects retry` decodes them again',
    )
    .option(...jsonOption)
    .option(...walletOption)
    .action(async (options) => {
      const { rejects } = await commands();
      await run.inContext((context) => rejects(context, options), { scope: options });
    })
    .command('retry')
    .argument(
      '[ids...]',
      'ids of rejects (default: all open rejects)',
      (id: string, ids: number[] = []) => [...ids, integer(id)],
    )
    .description('decode the payloads again, and store the values that can be decoded now')
    .option(...jsonOption)
    .option(...walletOption)
    .action(async (ids: number[] = [], _options: object, retry: Command) => {
      const { rejectsRetry } = await commands();
      // The parent command `rejects` has the same options, so commander may assign it there.
      const options = retry.optsWithGlobals();
      await run.inContext((context) => rejectsRetry(context, ids, options), {
        scope: options,
        needs: ['credentials'],
      });
    });
};
