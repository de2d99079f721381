import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

export type LogFinding = { file: string; line: number; what: string };

const crashes =
  /uncaughtException|unhandledRejection|UnhandledPromiseRejection|Uncaught |triggerUncaughtException|MaxListenersExceededWarning|FATAL ERROR|node:internal\/process|^(?:Type|Range|Reference|Syntax)Error\b/;

/** A secret in all forms in which a log might reveal it; `bytes` if it is hex. */
function encodingsOf(name: string, secret: string): [string, string][] {
  const bytes = /^(?:[0-9a-f]{2}){16,}$/i.test(secret) ? Buffer.from(secret, 'hex') : null;
  const shapes = [
    secret,
    secret.toLowerCase(),
    secret.toUpperCase(),
    encodeURIComponent(secret),
    ...[Buffer.from(secret), ...(bytes ? [bytes] : [])].flatMap((buffer) => [
      buffer.toString('base64').replace(/=+$/, ''),
      buffer.toString('base64url'),
      buffer.toString('hex'),
    ]),
  ];
  return [...new Set(shapes)].map((shape) => [shape, name]);
}

/** Searches the files for secrets and for signs of a crash inside the program. */
export async function scanLogs(
  files: string[],
  secrets: Record<string, string>,
): Promise<LogFinding[]> {
  const needles = Object.entries(secrets).flatMap(([name, secret]) => encodingsOf(name, secret));
  const findings: LogFinding[] = [];
  for (const file of files) {
    let line = 0;
    for await (const text of createInterface({ input: createReadStream(file) })) {
      line += 1;
      for (const what of findingsIn(text, needles)) findings.push({ file, line, what });
    }
  }
  return findings;
}

function findingsIn(text: string, needles: [string, string][]): string[] {
  const leaks = needles
    .filter(([shape]) => text.includes(shape))
    .map(([, name]) => `${name} shown`);
  return crashes.test(text) ? [...leaks, `crash: ${text.slice(0, 300)}`] : leaks;
}
