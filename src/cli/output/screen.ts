import { Writable } from 'node:stream';

/** Stderr, shared by the log and by the bars that are redrawn below it. */
export type Screen = {
  stream: NodeJS.WriteStream;
  log: Writable & { isTTY: boolean };
  /** Passes log lines to `writeAbove`, which redraws what is below, until the returned function is called. */
  drawBelowLog(writeAbove: (lines: string) => void): () => void;
};

export function createScreen(stream: NodeJS.WriteStream): Screen {
  let write: (lines: string) => unknown = (lines) => stream.write(lines);
  // A terminal or pipe that was closed must not end the daemon.
  stream.on('error', () => undefined);
  const log = new Writable({
    decodeStrings: false,
    write(lines: string | Buffer, _encoding, done) {
      write(lines.toString());
      done();
    },
  });
  return {
    stream,
    log: Object.assign(log, { isTTY: stream.isTTY === true }),
    drawBelowLog(writeAbove) {
      write = writeAbove;
      return () => {
        write = (lines) => stream.write(lines);
      };
    },
  };
}
