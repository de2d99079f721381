import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { listen } from './listen.ts';

export type StatementCounter = {
  /** The address of the database, through the counter. */
  url: string;
  /** Number of executions of each statement, by its text in single spaces. */
  counts: Map<string, number>;
  /** Executions of all statements whose text matches. */
  count(pattern?: RegExp): number;
  close(): Promise<void>;
};

/** A proxy between clients and a PostgreSQL server that counts the statements (protocol 3.0). */
export async function countStatements(target: string): Promise<StatementCounter> {
  const { hostname, port } = new URL(target);
  const counts = new Map<string, number>();
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket
        .on('error', () => undefined)
        .on('close', () => {
          sockets.delete(socket);
          other.destroy();
        });
      socket.pipe(other);
    }
    const note = createReader((text) => {
      const key = text.replaceAll(/\s+/g, ' ').trim();
      counts.set(key, (counts.get(key) ?? 0) + 1);
    });
    near.on('data', note);
  });
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String(await listen(server));
  return {
    url: url.toString(),
    counts,
    count: (pattern = /(?:)/) =>
      [...counts].reduce((sum, [text, times]) => (pattern.test(text) ? sum + times : sum), 0),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Reads the messages of a client, and reports the text of each statement that it executes. */
function createReader(onStatement: (text: string) => void): (chunk: Buffer) => void {
  const prepared = new Map<string, string>();
  let waiting = Buffer.alloc(0);
  let isStarted = false;
  const read = (type: string, body: Buffer) => {
    const strings = body.toString('utf8').split('\0');
    if (type === 'Q') onStatement(strings[0] ?? '');
    // Parse: the name, then the text. Bind: the portal, then the name of the statement.
    if (type === 'P') prepared.set(strings[0] ?? '', strings[1] ?? '');
    if (type === 'B') onStatement(prepared.get(strings[1] ?? '') ?? '');
  };
  return (chunk) => {
    waiting = Buffer.concat([waiting, chunk]);
    for (;;) {
      const head = isStarted ? 1 : 0;
      if (waiting.length < head + 4) return;
      const end = head + waiting.readInt32BE(head);
      if (waiting.length < end) return;
      if (isStarted) read(waiting.toString('latin1', 0, 1), waiting.subarray(5, end));
      isStarted = true;
      waiting = waiting.subarray(end);
    }
  };
}
