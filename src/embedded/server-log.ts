import { ftruncateSync } from 'node:fs';
import { openOwnFile, readOwnFile } from './own-file.ts';

const logBytesMax = 16 * 1024 * 1024;

/** Opens the server's log for appending; truncates it above 16 MiB. Returns a file descriptor. */
export function openServerLog(path: string): number {
  const { file, bytes } = openOwnFile(path);
  if (bytes > logBytesMax) ftruncateSync(file);
  return file;
}

/** Returns the last fatal error in the server's log, otherwise its last line, or ''. */
export function lastComplaint(path: string): string {
  try {
    const lines = (readOwnFile(path) ?? '').trimEnd().split('\n');
    const complaint = lines.findLast((line) => /FATAL|PANIC/.test(line)) ?? lines.at(-1) ?? '';
    return complaint.replace(/^[\d-]+ [\d:.]+ \w+ \[\d+\] /, '');
  } catch {
    return '';
  }
}
