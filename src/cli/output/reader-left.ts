/** Returns a signal that aborts with `signal`, or when the reader of the output has left (as after `| head`). */
export function untilReaderLeaves(signal: AbortSignal): AbortSignal {
  const left = new AbortController();
  process.stdout.on('error', () => left.abort());
  return AbortSignal.any([signal, left.signal]);
}
