import type { Writable } from 'node:stream';
import { type LoggerOptions, pino } from 'pino';
import { PinoPretty } from 'pino-pretty';
import type { Settings } from '../../config/settings.ts';
import type { Log } from '../../kernel/log.ts';
import { printableJson } from '../../kernel/printable-json.ts';
import type { Redactor } from '../../kernel/redact.ts';
import { describeError } from './describe-error.ts';

/**
 * Creates the logger. `format` selects JSON or readable lines; without it a terminal gets readable lines.
 * Every line is redacted as a whole. An Error in any field is written as message, code, cure and causes, with its stack
 * at level debug only. Lines are written immediately, so the last ones are not lost.
 */
export function createLogger(options: {
  level: Settings['log']['level'];
  format: Settings['log']['format'];
  redact: Redactor;
  stream: Writable & { isTTY?: boolean };
  /** Colours readable lines; default: if the stream is a terminal. */
  useColor?: boolean;
}): Log {
  const { level, redact, stream } = options;
  const isPretty = (options.format ?? (stream.isTTY ? 'pretty' : 'json')) === 'pretty';
  // A terminal or pipe that was closed must not end the daemon.
  stream.on('error', () => undefined);
  const settings: LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: {
      level: (label) => ({ level: label }),
      log: (fields) => describeErrors(fields, level === 'debug'),
    },
    hooks: {
      streamWrite: (line) =>
        isPretty ? escapeTwice(printableJson(redact(line))) : printableJson(redact(line)),
    },
  };
  if (!isPretty) return pino(settings, stream);
  return pino(
    settings,
    PinoPretty({
      destination: stream,
      colorize: options.useColor ?? stream.isTTY === true,
      translateTime: 'SYS:HH:MM:ss.l',
      errorLikeObjectKeys: [],
    }),
  );
}

function describeErrors(fields: Record<string, unknown>, withStack: boolean) {
  const described = Object.entries(fields).map(([name, value]) => [
    name,
    value instanceof Error ? describeError(value, { withStack }) : value,
  ]);
  return Object.fromEntries(described) as Record<string, unknown>;
}

/**
 * Escapes the escaped control characters of a JSON line once more, so that they stay escaped in the readable form.
 * Keeps line ends and tabs.
 */
function escapeTwice(line: string): string {
  return line.replace(
    /\\(\\|u(?:00[0189][0-9a-f]|007f|061c|20[0126][0-9a-f]))/gi,
    (whole, kind: string) => (kind === '\\' ? whole : `\\\\${kind}`),
  );
}
