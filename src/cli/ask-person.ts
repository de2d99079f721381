import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { LedgerError } from '../kernel/errors.ts';

/**
 * Asks a person on the terminal; both reject with LedgerError `usage` where there is none, and `interrupted` after
 * Ctrl-C or Ctrl-D. From the first question until `close`, the terminal shows nothing that is typed ahead: answers that
 * are pasted at once may end with the secret.
 */
export type Person = {
  ask(question: string): Promise<string>;
  /** Does not show what is typed. A PEM key is read up to its last line. */
  askSecretly(question: string): Promise<string>;
  close(): void;
};

const lastPemLine = /^-----END /;

/** Asks on stdin and stderr, so that stdout keeps the result alone. `missing` says what to give without a terminal. */
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

/** Takes the terminal over. A line that was typed before it is asked for is shown only with its question. */
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
    /** Resolves to null once the person has left. */
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
