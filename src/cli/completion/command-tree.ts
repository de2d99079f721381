import type { Command } from 'commander';

/** A command and the words that can follow it. `choices` of an option are its possible values. */
export type CommandNode = {
  name: string;
  description: string;
  options: OptionNode[];
  /** Possible values of its first argument. */
  choices: string[];
  commands: CommandNode[];
};

export type OptionNode = {
  names: string[];
  description: string;
  takes: 'nothing' | 'file' | 'text';
  choices: string[];
};

/** A command with the names of the commands that lead to it; the program itself has none. */
export type Placed = { path: string[]; node: CommandNode };

/** Reads the commands of a program, with the option --help that each has. */
export function readCommands(command: Command): CommandNode {
  const options = command.options.filter(({ hidden }) => !hidden);
  return {
    name: command.name(),
    description: firstSentence(command.description()),
    options: [
      ...options.map(({ short, long, description, required, optional, flags, argChoices }) => ({
        names: [short, long].filter((name) => name !== undefined),
        description: firstSentence(description),
        takes: required || optional ? takenBy(flags) : ('nothing' as const),
        choices: argChoices ?? [],
      })),
      { names: ['-h', '--help'], description: 'show the help', takes: 'nothing', choices: [] },
    ],
    choices: command.registeredArguments[0]?.argChoices ?? [],
    commands: command.commands.map(readCommands),
  };
}

/** Lists the command and all below it, the command first. */
export function placesOf(node: CommandNode, path: string[] = []): Placed[] {
  const below = node.commands.flatMap((each) => placesOf(each, [...path, each.name]));
  return [{ path, node }, ...below];
}

function takenBy(flags: string): 'file' | 'text' {
  return /<(file|path)>/.test(flags) ? 'file' : 'text';
}

/** Shortens a help text, because a list of completions has one line for each. */
function firstSentence(text: string): string {
  return text.split(/[;:]\s|\n/)[0] ?? '';
}
