import type { Command } from 'commander';
import { createProgram } from '../src/cli/program.ts';

const head = `# Commands

What \`--help\` of each command says; \`npm run docs\` writes this page from it. Exit codes and the order in which to use
the commands are in [operations.md](operations.md#exit-codes), settings in [settings.md](settings.md).

Commands that report take \`--json\`: one JSON document on standard output, everything else on standard error.
`;

/** The text of `docs/commands.md`. */
export function renderCommandsDoc(): string {
  const program = createProgram({ inContext: async () => undefined, alone: async () => undefined });
  const groups = new Map<string, Command[]>();
  for (const command of program.commands) {
    const group = command.helpGroup();
    groups.set(group, [...(groups.get(group) ?? []), command]);
  }
  const sections = [...groups].map(([group, commands]) =>
    [`## ${group.replace(/:$/, '')}`, ...commands.flatMap((command) => helpOf(command, []))].join(
      '\n\n',
    ),
  );
  return `${[head, ...sections].join('\n')}\n`;
}

/** The help of a command and of those below it. */
function helpOf(command: Command, parents: string[]): string[] {
  const path = [...parents, command.name()];
  return [
    `### ${path.join(' ')}`,
    `\`\`\`text\n${printedHelp(command)}\n\`\`\``,
    ...command.commands.flatMap((each) => helpOf(each, path)),
  ];
}

/** Returns the text that `--help` prints, examples and notes included. */
function printedHelp(command: Command): string {
  let text = '';
  command.configureOutput({
    getOutHelpWidth: () => 110,
    writeOut: (part) => {
      text += part;
    },
  });
  command.outputHelp();
  return text.trimEnd();
}
