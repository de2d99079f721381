import { expect, test } from 'vitest';
import { walletNames } from '../../src/cli/command-line/argument-parsers.ts';
import { createProgram } from '../../src/cli/program.ts';

/** Parses the words, and runs nothing. */
async function parse(...words: string[]): Promise<void> {
  const program = createProgram({ inContext: async () => {}, alone: async () => {} });
  await program.parseAsync(words, { from: 'user' });
}

test.each(['2', '1.5', '-1', 'half'])('a share of faults of %s is refused', async (rate) => {
  await expect(parse('sandbox', '--fault', rate)).rejects.toMatchObject({ name: 'CommanderError' });
});

test.each(['0', '0.3', '1'])('a share of faults of %s is accepted', async (rate) => {
  await expect(parse('sandbox', '--fault', rate)).resolves.toBeUndefined();
});

test.each([
  ['--port', '65536', '65535'],
  ['--page-size-max', '0', 'from 1 on'],
  ['--transactions', '1234567890', '9 digits'],
])('sandbox %s %s is refused, and the error says what fits', async (name, value, words) => {
  await expect(parse('sandbox', name, value)).rejects.toMatchObject({
    name: 'CommanderError',
    message: expect.stringContaining(words),
  });
});

test.each(['page=p,size=limit', 'chain=coin', 'type=t, page=p'])(
  'parameter names of the sandbox may be %s',
  async (names) => {
    await expect(parse('sandbox', '--param-names', names)).resolves.toBeUndefined();
  },
);

test.each(['', 'p', 'pages=p', 'page=a b', 'page=type', 'page=a,page=b'])(
  'parameter names of the sandbox of "%s" are refused',
  async (names) => {
    await expect(parse('sandbox', '--param-names', names)).rejects.toMatchObject({
      name: 'CommanderError',
      message: expect.stringContaining('--param-names'),
    });
  },
);

test.each([
  ['sync', '--wallet', 'a', '--wallet', 'b'],
  ['rejects', 'retry', '--wallet', 'a', '--wallet', 'b'],
  ['sandbox', '--port', '0', '--port=0'],
])('a second value of an option is refused: %s %s …', async (...words) => {
  await expect(parse(...words)).rejects.toMatchObject({
    name: 'CommanderError',
    message: expect.stringMatching(/^error: option '--\w+ <\w+>' is given twice$/),
  });
});

test('different options are accepted together', async () => {
  await expect(parse('sandbox', '--port', '0', '--seed', '1')).resolves.toBeUndefined();
});

test('an option that the sandbox does not have is refused by its name', async () => {
  await expect(parse('sandbox', '--pages', '5')).rejects.toMatchObject({
    message: expect.stringContaining('--pages'),
  });
});

test.each([
  ['1', ['main']],
  ['3', ['main', 'w2', 'w3']],
  ['eu,us_2', ['eu', 'us_2']],
])('wallets of %s are %j', async (text, names) => {
  expect(walletNames(text)).toEqual(names);
  await expect(parse('sandbox', '--wallets', text)).resolves.toBeUndefined();
});

test.each(['0', '101', '', 'EU', 'eu,', 'eu,eu', '2,3', 'eu us'])(
  'wallets of "%s" are refused',
  async (text) => {
    await expect(parse('sandbox', '--wallets', text)).rejects.toMatchObject({
      name: 'CommanderError',
    });
  },
);
