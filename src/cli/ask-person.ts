import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { LedgerError } from '../kernel/errors.ts';

/**
 * Asks a person on the terminal; both reject with LedgerError `usage` where there is none, and
 * `interrupted` after Ctrl-C or Ctrl-D.
 */
export type Person = {
  ask(question: string): Promise<string>;
  /** Does not show what is typed. A PEM key is read up to its last line. */
  askSecretly(question: string): Promise<string>;
};

const lastPemLine = /^-----END /;

/** Asks on stdin and stderr, so that stdout keeps the result alone. `missing` says what to give without a terminal. */
export function createPerson(
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
  missing: string,
): Person {
  async function question(words: string, isShown: boolean): Promise<string> {
    if (!input.isTTY) {
      throw new LedgerError('usage', 'there is no terminal to ask on', { cure: missing });
    }
    const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
    const lines = createInterface({ input, output: isShown ? output : silent, terminal: true });
    // Only now the terminal shows nothing by itself: a secret that was pasted at once would have been seen.
    output.write(words);
    const answer = await readAnswer(lines).finally(() => lines.close());
    if (!isShown) output.write('\n');
    if (answer !== null) return answer;
    throw new LedgerError('interrupted', 'the question was not answered', { cure: missing });
  }
  return {
    ask: (words) => question(words, true),
    askSecretly: (words) => question(words, false),
  };
}

/** Returns one line, or a whole PEM key; null after Ctrl-C or Ctrl-D. */
async function readAnswer(lines: Interface): Promise<string | null> {
  const read: string[] = [];
  for await (const line of lines) {
    read.push(line);
    const isPem = read[0]?.startsWith('-----BEGIN ') ?? false;
    if (!isPem || lastPemLine.test(line)) return read.join('\n').trim();
  }
  return null;
}

/** Reads stdin to its end, without the last line end. At most 64 KiB. */
export async function readAllOf(input: NodeJS.ReadStream): Promise<string> {
  let text = '';
  for await (const chunk of input) {
    text += String(chunk);
    if (text.length > 65_536) throw new LedgerError('usage', 'stdin holds more than a secret');
  }
  return text.replace(/\r?\n$/, '');
}
