import { Command, CommanderError } from 'commander';
import { addBookCommands } from './command-line/book-commands.ts';
import type { CommandRunner } from './command-line/command-group.ts';
import { addCompletionCommand } from './command-line/completion-command.ts';
import { addDaemonCommand } from './command-line/daemon-command.ts';
import { addDatabaseCommand } from './command-line/database-command.ts';
import { addTrialCommands } from './command-line/demo-commands.ts';
import { addFeedCommands } from './command-line/feed-commands.ts';
import { addInitCommand } from './command-line/init-command.ts';
import { addPoolCommands } from './command-line/pool-commands.ts';
import { addRecoverCommand } from './command-line/recover-command.ts';
import { addRejectsCommands } from './command-line/rejects-commands.ts';
import { addCheckCommands } from './command-line/status-commands.ts';
import { addLedgerCommands } from './command-line/sync-commands.ts';
import { runCommand } from './context/command-context.ts';
import { readVersion } from './read-version.ts';

/** Headings of `--help`, with the commands under each. */
const groups = {
  'Fill the ledger:': [addDaemonCommand, addLedgerCommands],
  'Check and maintain it:': [addCheckCommands, addRejectsCommands, addRecoverCommand],
  'Address pools:': [addPoolCommands],
  'Change feed:': [addFeedCommands],
  'Books for accountants:': [addBookCommands],
  'Set up and try out:': [
    addInitCommand,
    addDatabaseCommand,
    addTrialCommands,
    addCompletionCommand,
  ],
};

const examples = `
Examples:
  $ wallet-ledger demo      try it; needs nothing but this machine
  $ wallet-ledger init      connect to your wallet service, and write the settings
  $ wallet-ledger doctor    check the settings, and say how to correct each mistake
  $ wallet-ledger start     fill the ledger and keep it up to date, until Ctrl-C

Settings are environment variables, also read from the file .env; .env.example names them all.`;

/** Runs the command line `argv` (without node and script). Resolves to the exit code. */
export async function runProgram(argv: string[]): Promise<number> {
  let exitCode = 0;
  const run: CommandRunner = {
    async inContext(work, demands) {
      exitCode = await runCommand(work, demands);
    },
    async alone(work) {
      exitCode = await work;
    },
  };
  const program = createProgram(run);
  try {
    await program.parseAsync(argv, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0;
    if (error.code !== 'commander.help') process.stderr.write(usageLine(error, program, argv));
    return 2;
  }
}

/** Builds the command line; `run` runs its commands. */
export function createProgram(run: CommandRunner): Command {
  const program = new Command('wallet-ledger')
    .description(
      'An exact, provably complete and always current copy of a custodial wallet in PostgreSQL',
    )
    .version(readVersion(), '-V, --version', 'print the version')
    .exitOverride()
    // Leaves 38 of 80 columns for the descriptions, next to the longest command.
    .configureHelp({ minWidthToWrap: 30 })
    // Commander prints a usage error on several lines; `usageLine` prints it on one.
    .configureOutput({ outputError: () => undefined })
    .addHelpText('after', examples);
  for (const [heading, adders] of Object.entries(groups)) {
    program.commandsGroup(heading);
    for (const add of adders) add(program, run);
  }
  refuseRepeated(program);
  // Adds the command `help`, under the last heading.
  return program.helpCommand(true);
}

/** Refuses a second value of an option that takes one, of which commander would use the last. */
function refuseRepeated(command: Command): void {
  for (const option of command.options) {
    const isSingle = (option.required || option.optional) && !option.variadic;
    let isGiven = false;
    command.on(`option:${option.name()}`, () => {
      if (isSingle && isGiven) command.error(`error: option '${option.flags}' is given twice`);
      isGiven = true;
    });
  }
  for (const each of command.commands) refuseRepeated(each);
}

function usageLine({ message }: CommanderError, program: Command, argv: string[]): string {
  const what = message.replace(/^error: |\.$/g, '').replaceAll(/\s+/g, ' ');
  return `wallet-ledger: ${what}; run \`${commandOf(program, argv)} --help\`\n`;
}

/** Returns the longest command that the words name: `wallet-ledger pool take`. */
function commandOf(program: Command, words: string[]): string {
  const [word = '', ...rest] = words;
  const next = program.commands.find((command) => command.name() === word);
  return next ? `${program.name()} ${commandOf(next, rest)}` : program.name();
}
