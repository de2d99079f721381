/** Returns a signal that aborts with `signal`, and once nobody reads the output any more (`| head`, say). */
export function untilReaderLeaves(signal: AbortSignal): AbortSignal {
  const left = new AbortController();
  process.stdout.on('error', () => left.abort());
  return AbortSignal.any([signal, left.signal]);
}
