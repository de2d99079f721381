import type { Log } from '../../src/kernel/log.ts';

export type LogLine = { level: keyof Log; fields: Record<string, unknown>; message: string };

/** A log that keeps its lines. */
export function recordLog(): { log: Log; lines: LogLine[] } {
  const lines: LogLine[] = [];
  const write = (level: keyof Log) => (fields: Record<string, unknown>, message: string) => {
    lines.push({ level, fields, message });
  };
  const log: Log = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  };
  return { log, lines };
}
