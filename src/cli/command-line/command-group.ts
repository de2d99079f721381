import type { Command } from 'commander';
import type { CommandContext } from '../command-context.ts';

/**
 * Adds related commands to the program. Each command imports its code when it is called, so that `--help` answers at
 * once.
 */
export type CommandGroup = (program: Command, run: CommandRunner) => void;

export type CommandRunner = {
  /** Runs the work with settings, log and shutdown; its exit code becomes the program's. */
  inContext(work: (context: CommandContext) => Promise<number>): Promise<void>;
  /** Awaits a command that creates its own context; its exit code becomes the program's. */
  alone(work: Promise<number>): Promise<void>;
};

export const jsonOption = ['--json', 'print one JSON document on stdout'] as const;
