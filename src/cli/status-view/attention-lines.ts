import { countWords } from '../../kernel/count-words.ts';
import type { Problem } from '../../ledger/reports/ledger-status.ts';
import { printableLine, printableText } from '../../service/decoding/printable-text.ts';
import { listProblems, verdictOn } from '../../status/list-problems.ts';
import type { StatusReport } from '../../status/status-report.ts';
import { durationWords, secondsBetween, verdictWords } from '../../status/status-words.ts';
import { type TextStyle, wrap } from './terminal-text.ts';

/** Upper bound of listed problems with the same cure. */
const problemsMax = 5;
const tones = {
  ok: { mark: '✓', style: 'green' },
  attention: { mark: '!', style: 'yellow' },
  critical: { mark: '✗', style: 'red' },
} as const;
const severityTones = { warning: tones.attention, critical: tones.critical } as const;

/**
 * Formats the verdict, and below it the problems with their cures. Problems with the same cure share one line of it.
 */
export function attentionLines(report: StatusReport, { paint, width }: TextStyle): string[] {
  const problems = listProblems(report);
  const at = report.readAt.replace('T', ' ').replace('Z', ' UTC');
  const { mark, style } = tones[verdictOn(problems)];
  const verdict = `${mark} ${verdictWords(problems).toLowerCase()}`;
  const isOneLine = verdict.length + at.length + 3 <= width;
  const shown = paint(['bold', style], verdict);
  const byCure = new Map<string, Problem[]>();
  for (const problem of problems)
    byCure.set(problem.cure, [...(byCure.get(problem.cure) ?? []), problem]);
  return [
    ...(isOneLine ? [`${shown} · ${at}`] : [shown, `  ${at}`]),
    ...[...byCure].flatMap(([cure, alike]) => ['', ...problemLines(alike), ...cureLines(cure)]),
  ];

  function problemLines(alike: Problem[]): string[] {
    const shown = alike.length > problemsMax ? alike.slice(0, problemsMax - 1) : alike;
    const left = alike.length - shown.length;
    const more = left === 0 ? [] : [`    and ${countWords(left)} more of this kind`];
    return [...shown.flatMap(problemText), ...more];
  }

  function problemText({ severity, since, what, wallet = '' }: Problem): string[] {
    const tone = severityTones[severity];
    const of = wallet === '' || report.wallets.length < 2 ? '' : `${wallet}: `;
    const when =
      since === null ? '' : ` (for ${durationWords(secondsBetween(since, report.readAt))})`;
    return wrap(`${of}${printableText(what)}${when}`, width - 4).map((line, index) =>
      paint(tone.style, `  ${index === 0 ? tone.mark : ' '} ${line}`),
    );
  }

  function cureLines(cure: string): string[] {
    return wrap(printableLine(cure), width - 6).map((line, index) =>
      paint('bold', `    ${index === 0 ? '→' : ' '} ${line}`),
    );
  }
}
