import { Argument } from 'commander';
import { readCommands } from '../completion/command-tree.ts';
import { completionScript, type Shell, shells } from '../completion/completion-scripts.ts';
import type { CommandGroup } from './command-group.ts';

export const addCompletionCommand: CommandGroup = (program, run) => {
  program
    .command('completion')
    .description('print the script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText(
      'after',
      `
Examples:
  $ eval "$(wallet-ledger completion bash)"      in ~/.bashrc
  $ eval "$(wallet-ledger completion zsh)"       in ~/.zshrc, after compinit
  $ wallet-ledger completion fish | source       in config.fish`,
    )
    .action(async (shell: Shell) => {
      process.stdout.write(completionScript(readCommands(program), shell));
      await run.alone(Promise.resolve(0));
    });
};
