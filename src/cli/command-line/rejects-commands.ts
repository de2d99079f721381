import type { Command } from 'commander';
import { integer } from './argument-parsers.ts';
import { type CommandGroup, jsonOption } from './command-group.ts';

export const addRejectsCommands: CommandGroup = (program, run) => {
  const commands = () => import('../commands/rejects.ts');
  program
    .command('rejects')
    .description('list what could not be decoded, and why; `rejects retry` decodes it again')
    .option(...jsonOption)
    .action(async (options) => {
      const { rejects } = await commands();
      await run.inContext((context) => rejects(context, options));
    })
    .command('retry')
    .argument(
      '[ids...]',
      'ids of rejects (default: all that are open)',
      (id: string, ids: number[] = []) => [...ids, integer(id)],
    )
    .description('decode the payloads again, and store what fits now')
    .option(...jsonOption)
    .action(async (ids: number[] = [], _options: object, retry: Command) => {
      const { rejectsRetry } = await commands();
      // The parent command `rejects` has the same option, so commander may assign it there.
      const options = retry.optsWithGlobals();
      await run.inContext((context) => rejectsRetry(context, ids, options));
    });
};
