import { listProblems } from '../../http/status-problems.ts';
import type { StatusReport } from '../../http/status-report.ts';
import { countWords } from '../../http/status-words.ts';
import { printableText } from '../../service/printable-text.ts';
import { type Canvas, wrap } from './picture-text.ts';

/** Of one cure. */
const problemsMax = 5;

/** The verdict, and below it what needs attention, with the cure of each; one cure is told once. */
export function attentionLines(report: StatusReport, { paint, width }: Canvas): string[] {
  const problems = listProblems(report);
  const at = report.readAt.replace('T', ' ').replace('Z', ' UTC');
  const count = problems.length;
  const verdict =
    count === 0
      ? paint(['bold', 'green'], '✓ all is well')
      : paint(
          ['bold', 'red'],
          `✗ ${countWords(count)} ${count === 1 ? 'thing needs' : 'things need'} attention`,
        );
  const byCure = new Map<string, string[]>();
  for (const { what, cure } of problems) byCure.set(cure, [...(byCure.get(cure) ?? []), what]);
  return [
    `${verdict} · ${at}`,
    ...[...byCure].flatMap(([cure, whats]) => ['', ...troubleLines(whats), ...cureLines(cure)]),
  ];

  function troubleLines(whats: string[]): string[] {
    const shown = whats.length > problemsMax ? whats.slice(0, problemsMax - 1) : whats;
    const left = whats.length - shown.length;
    const texts = left === 0 ? shown : [...shown, `and ${countWords(left)} more of the kind`];
    return texts.flatMap((what) =>
      wrap(printableText(what), width - 4).map((line, index) =>
        paint('red', `  ${index === 0 ? '✗' : ' '} ${line}`),
      ),
    );
  }

  function cureLines(cure: string): string[] {
    return wrap(cure, width - 6).map((line, index) =>
      paint('bold', `    ${index === 0 ? '→' : ' '} ${line}`),
    );
  }
}
