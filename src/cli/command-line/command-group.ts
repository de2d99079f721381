import type { Command } from 'commander';
import type { CommandContext } from '../command-context.ts';

/** Some commands that belong together. Each loads what it needs when it is called: `--help` answers at once. */
export type CommandGroup = (program: Command, run: CommandRunner) => void;

export type CommandRunner = {
  /** Runs the work with settings, log and shutdown; its exit code is the program's. */
  inContext(work: (context: CommandContext) => Promise<number>): Promise<void>;
  /** For a command that brings its own context. */
  alone(work: Promise<number>): Promise<void>;
};

export const jsonOption = ['--json', 'print one JSON document on stdout'] as const;
