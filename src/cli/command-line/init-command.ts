import { Option } from 'commander';
import { webAddress } from './argument-parsers.ts';
import type { CommandGroup } from './command-group.ts';

export const addInitCommand: CommandGroup = (program, run) => {
  program
    .command('init')
    .description(
      'first connection: find out which signature, parameter names and page size the service expects, and write the settings; asks for values that are not given',
    )
    .option('--base-url <url>', 'address of the wallet service', webAddress)
    .option('--api-key <key>', 'API key, if it is not derived from the private key')
    .addOption(
      new Option(
        '--secret-file <file>',
        'file with the secret; the settings will name this file',
      ).conflicts('secretStdin'),
    )
    .option('--secret-stdin', 'read the secret from stdin')
    .option('--out <file>', 'file to write; it must not exist', '.env')
    .addHelpText(
      'after',
      `
The secret is never given on the command line, which other users can see. Without --secret-file and --secret-stdin it is
taken from WALLET_API_SECRET, or asked for.`,
    )
    .action(async (options) => {
      const { init } = await import('../commands/init.ts');
      await run.alone(init(options));
    });
};
