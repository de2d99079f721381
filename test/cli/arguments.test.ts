import { expect, test } from 'vitest';
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
