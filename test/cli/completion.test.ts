import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { placesOf, readCommands } from '../../src/cli/completion/command-tree.ts';
import { completionScript, shells } from '../../src/cli/completion/completion-scripts.ts';
import { createProgram } from '../../src/cli/program.ts';
import { programOnPath } from '../support/program-on-path.ts';

const tree = readCommands(createProgram({ inContext: async () => {}, alone: async () => {} }));
const bash = programOnPath(['bash']);

/** Returns bash's completions for these words, of which the last one is being typed. */
function offered(...words: string[]): string[] {
  const script = `${completionScript(tree, 'bash')}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _wallet_ledger; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const given = ['-c', script, 'bash', 'wallet-ledger', ...words];
  return execFileSync(bash ?? 'bash', given, { encoding: 'utf8' })
    .split('\n')
    .filter(Boolean);
}

test.skipIf(!bash)('bash completes every command with its commands and options', () => {
  for (const { path, node } of placesOf(tree)) {
    const expected = [
      ...node.commands.map(({ name }) => name),
      ...node.choices,
      ...node.options.flatMap(({ names }) => names),
    ];
    expect([path, offered(...path, '').sort()]).toEqual([path, expected.sort()]);
  }
});

test.skipIf(!bash)('bash completes what has begun, and the values of options that have few', () => {
  expect(offered('sta')).toEqual(['start', 'status']);
  expect(offered('pool', 'ref')).toEqual(['refill']);
  expect(offered('pool', 'refill', '60', '--js')).toEqual(['--json']);
  expect(offered('completion', '')).toEqual(expect.arrayContaining(['bash', 'zsh', 'fish']));
  expect(offered('backfill', '--type', '')).toEqual(['deposit', 'withdraw']);
  expect(offered('backfill', '--type', 'w')).toEqual(['withdraw']);
  expect(offered('pool', 'take', '60', '--reference', '')).toEqual([]);
  expect(offered('recover', '--handed-out', 'package.js')).toEqual(['package.json']);
  expect(offered('unknown', 'poo')).toEqual(['pool']);
});

test.skipIf(!bash)('bash asks the function when the name of the program is typed', () => {
  const registered = execFileSync(
    bash ?? 'bash',
    ['-c', `eval "$1"; complete -p wallet-ledger`, 'bash', completionScript(tree, 'bash')],
    { encoding: 'utf8' },
  );
  expect(registered.trim()).toBe('complete -F _wallet_ledger wallet-ledger');
});

test.each(shells)('the script for %s names every command and every long option', (shell) => {
  const script = completionScript(tree, shell);
  for (const { node } of placesOf(tree)) {
    expect(script).toContain(node.name);
    for (const { names } of node.options)
      expect(script).toContain((names.at(-1) ?? '').replace(/^--/, ''));
  }
  expect(script).not.toMatch(/undefined|\[object/);
});

for (const shell of ['zsh', 'fish'] as const) {
  const program = programOnPath([shell]);
  test.skipIf(!program)(`${shell} takes the script`, () => {
    const input = completionScript(tree, shell);
    expect(() => execFileSync(program ?? shell, ['-n', '/dev/stdin'], { input })).not.toThrow();
  });
}
