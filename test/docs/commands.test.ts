import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { migrateQueue } from '../../src/queue/migrate-queue.ts';
import { nameWallet } from '../../src/status/name-wallet.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, connectionString } = await withLedger();
await migrateQueue(connectionString);
const program = createProgram({ inContext: async () => undefined, alone: async () => undefined });

/** Patterns for the words after `wallet-ledger` in inline code, a block of code, or a text of the program. */
const spoken = /`(?:npx |sudo )?wallet-ledger ([a-z-][^`]+)`/g;
const typed =
  /^\s*(?:\$ |eval "\$\()?(?:npx |sudo |docker compose exec (?:-T )?wallet-ledger )?wallet-ledger (.+)$/gm;

function filesIn(folder: string, ending: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .map((file) => join(folder, file));
}

function commandsIn(text: string): string[] {
  const blocks = [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, block = '']) => block);
  const lines = blocks.flatMap((block) => [...block.matchAll(typed)]);
  // In a text of the program a backtick may be escaped, and one behind a value is the text's own.
  const inline = text.replaceAll('\\`', '`').matchAll(spoken);
  return [...inline, ...lines].map(([, words = '']) => words);
}

function mistakesIn(text: string): string[] {
  return commandsIn(text).flatMap((words) => {
    const mistake = mistakeIn(words);
    return mistake === null ? [] : [`${words}: ${mistake}`];
  });
}

/** Returns why the program would not take the words; null if it would. */
function mistakeIn(words: string): string | null {
  const [typedWords = ''] = words.split(/ +[#|]| {2,}| [<>] ?[\w.-]+$/);
  const left = typedWords.replaceAll(/\$\{[^}]*\}/g, 'VALUE').match(/"[^"]*"|\S+/g) ?? [];
  let command: Command = program;
  for (let next = find(left[0]); next; next = find(left[0])) {
    command = next;
    left.shift();
  }
  if (command === program && !left[0]?.startsWith('-')) return `there is no command ${left[0]}`;
  const given: string[] = [];
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    if (/^[…()]/.test(word)) return null;
    if (!word.startsWith('-')) {
      given.push(word);
      continue;
    }
    if (/^--?(help|version|h|V)$/.test(word)) return null;
    const option = command.options.find(({ long, short }) => long === word || short === word);
    if (!option) return `${command.name()} has no option ${word}`;
    if (option.required) {
      const value = left.shift();
      if (value === undefined && !option.variadic) return `${word} needs a value`;
      const isKnown = /^[A-Z<…]/.test(value ?? '') || !option.argChoices?.length;
      if (!isKnown && !value?.split('|').every((each) => option.argChoices?.includes(each)))
        return `${word} cannot be ${value}`;
    }
    while (option.variadic && left[0] && !left[0].startsWith('-')) left.shift();
  }
  const { registeredArguments: known } = command;
  const max = known.at(-1)?.variadic ? Number.POSITIVE_INFINITY : known.length;
  if (given.length > max) return `${command.name()} takes no ${given.at(max)}`;
  return null;

  function find(word: string | undefined): Command | undefined {
    return command.commands.find((each) => each.name() === word);
  }
}

test('a mistyped command is found', () => {
  expect(mistakeIn('pool refill <slip44> --resume')).toBeNull();
  expect(mistakeIn('export --format csv >books.csv')).toBeNull();
  expect(mistakeIn('verfy')).toBe('there is no command verfy');
  expect(mistakeIn('status --chek')).toBe('status has no option --chek');
  expect(mistakeIn('status all')).toBe('status takes no all');
  expect(mistakeIn('export --format pdf')).toBe('--format cannot be pdf');
});

test.each(['README.md', ...filesIn('docs', '.md')])(
  'the program takes every command that %s names',
  (page) => {
    expect(mistakesIn(readFileSync(page, 'utf8'))).toEqual([]);
  },
);

test('the program takes every command that its own texts and the database name', async () => {
  const { rows } = await ledger.pool.query<{ text: string }>(
    `select prosrc as text from pg_proc where pronamespace in ('ledger'::regnamespace, 'engine'::regnamespace)
      union all select pg_get_viewdef(oid) from pg_class where relkind = 'v' and relnamespace = 'ledger'::regnamespace`,
  );
  const texts = [
    ...filesIn('src', '.ts').map((file) => readFileSync(file, 'utf8')),
    ...rows.map(({ text }) => text),
  ];
  expect(texts.flatMap(commandsIn).length).toBeGreaterThan(90);
  expect(texts.flatMap(mistakesIn)).toEqual([]);
});

test('PostgreSQL takes every statement of the runbooks', async () => {
  const text = readFileSync('docs/operations.md', 'utf8').split('## Alerts and runbooks')[1] ?? '';
  const statements = [...text.matchAll(/`((?:select|delete)\s[^`]+)`/g)].map(([, statement = '']) =>
    statement
      .replaceAll('…', '0')
      .replaceAll(/terminate_backend\((?:pid|process)\)/g, 'terminate_backend(0)'),
  );
  expect(statements.length).toBeGreaterThan(20);
  const refused: string[] = [];
  for (const statement of statements) {
    const client = await ledger.pool.connect();
    await client.query('begin');
    await client.query(`explain ${statement}`).catch((error: Error) => {
      refused.push(`${statement}: ${error.message}`);
    });
    await client.query('rollback');
    client.release();
  }
  expect(refused).toEqual([]);
});

test('each command to which a cure adds a wallet takes one', () => {
  const leaves = (command: Command, path: string): [string, Command][] => [
    [path, command],
    ...command.commands.flatMap((each) => leaves(each, `${path} ${each.name()}`)),
  ];
  const told = leaves(program, 'wallet-ledger').filter(([path]) =>
    nameWallet(`\`${path}\``, 'eu', ['eu', 'us']).includes('--wallet eu'),
  );
  expect(told.length).toBeGreaterThan(10);
  const deaf = told.filter(
    ([path, { options }]) =>
      path !== 'wallet-ledger pool' && !options.some(({ long }) => long === '--wallet'),
  );
  expect(deaf.map(([path]) => path)).toEqual([]);
});
