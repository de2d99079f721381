import { openSync, readFileSync, statSync, truncateSync } from 'node:fs';

const logBytesMax = 16 * 1024 * 1024;

/** Opens the server's log for appending; one that has grown too long begins anew. Returns a file descriptor. */
export function openServerLog(path: string): number {
  const log = openSync(path, 'a', 0o600);
  if (statSync(path).size > logBytesMax) truncateSync(path);
  return log;
}

/** The last complaint in the server's log, or ''. */
export function lastComplaint(path: string): string {
  try {
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    const complaint = lines.findLast((line) => /FATAL|PANIC/.test(line)) ?? lines.at(-1) ?? '';
    return complaint.replace(/^[\d-]+ [\d:.]+ \w+ \[\d+\] /, '');
  } catch {
    return '';
  }
}
