import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { LedgerError } from '../kernel/errors.ts';

/**
 * Asks a person on the terminal. Both functions reject with LedgerError `usage` without a terminal, and `interrupted`
 * after Ctrl-C or Ctrl-D. From the first question until `close`, the terminal does not show what is typed ahead,
 * because several answers pasted at once may end with the secret.
 */
export type Person = {
  ask(question: string): Promise<string>;
  /** Does not show what is typed. A PEM key is read up to its last line. */
  askSecretly(question: string): Promise<string>;
  close(): void;
};

const lastPemLine = /^-----END /;

/** Asks on stdin and stderr, so that stdout has only the result. `missing`: what to give without a terminal. */
export function createPerson(
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
  missing: string,
): Person {
  let terminal: Terminal | null = null;

  async function question(words: string, isShown: boolean): Promise<string> {
    if (!input.isTTY) {
      throw new LedgerError('usage', 'there is no terminal to ask on', { cure: missing });
    }
    terminal ??= openTerminal(input, output);
    const answer = await readAnswer(terminal, words, isShown);
    if (!isShown) output.write('\n');
    if (answer !== null) return answer;
    throw new LedgerError('interrupted', 'the question was not answered', { cure: missing });
  }
  return {
    ask: (words) => question(words, true),
    askSecretly: (words) => question(words, false),
    close: () => terminal?.close(),
  };
}

/** Returns one line, or a whole PEM key; null after Ctrl-C or Ctrl-D. */
async function readAnswer(
  terminal: Terminal,
  words: string,
  isShown: boolean,
): Promise<string | null> {
  const read: string[] = [];
  for (;;) {
    const line = await terminal.readLine(read.length === 0 ? words : '', isShown);
    if (line === null) return null;
    read.push(line);
    const isPem = read[0]?.startsWith('-----BEGIN ') ?? false;
    if (!isPem || lastPemLine.test(line)) return read.join('\n').trim();
  }
}

type Terminal = ReturnType<typeof openTerminal>;

/** Takes over the terminal. A line that was typed before its question is shown only with the question. */
function openTerminal(input: NodeJS.ReadStream, output: NodeJS.WriteStream) {
  const typed: string[] = [];
  let isEchoing = false;
  let isClosed = false;
  let wake = () => {};
  const screen = new Writable({
    write(chunk, _encoding, done) {
      if (isEchoing) output.write(chunk);
      done();
    },
  });
  const lines = createInterface({
    input,
    output: Object.assign(screen, { columns: output.columns }),
    terminal: true,
    historySize: 0,
  });
  lines.on('line', (line) => {
    isEchoing = false;
    typed.push(line);
    wake();
  });
  lines.on('close', () => {
    isClosed = true;
    wake();
  });

  function begin(words: string, isShown: boolean): void {
    lines.setPrompt(isShown ? words : '');
    isEchoing = isShown && typed.length === 0;
    if (isEchoing) lines.prompt(true);
    else output.write(words);
  }

  return {
    /** Resolves to null after Ctrl-C or Ctrl-D. */
    async readLine(words: string, isShown: boolean): Promise<string | null> {
      begin(words, isShown);
      const isAhead = isShown && !isEchoing;
      while (typed.length === 0 && !isClosed) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const line = typed.shift();
      if (isAhead) output.write(`${line ?? ''}\n`);
      return line ?? null;
    },
    close: () => lines.close(),
  };
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
