import type { Command } from 'commander';
import type { CommandContext, CommandDemands } from '../context/command-context.ts';

/**
 * Adds related commands to the program. Each command imports its code when it is called, so that `--help` answers at
 * once.
 */
export type CommandGroup = (program: Command, run: CommandRunner) => void;

export type CommandRunner = {
  /**
   * Runs the work with settings, log and shutdown; its exit code becomes the program's. A command whose `needs` the
   * settings lack does not run.
   */
  inContext(
    work: (context: CommandContext) => Promise<number>,
    demands?: CommandDemands,
  ): Promise<void>;
  /** Awaits a command that creates its own context; its exit code becomes the program's. */
  alone(work: Promise<number>): Promise<void>;
};

/** Option of a command that concerns one wallet. */
export const walletOption = [
  '--wallet <name>',
  'the wallet, one of WALLETS; needed where several are set',
] as const;

/** The same for a command that shows the rows of a wallet that rests as well. */
export const keptWalletOption = [
  '--wallet <name>',
  'the wallet, one of WALLETS or one that rests; needed where several are set',
] as const;

export const jsonOption = ['--json', 'print one JSON document on stdout'] as const;
