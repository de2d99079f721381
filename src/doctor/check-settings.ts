import { bad, type Finding, good, warning } from './finding.ts';

/** Every mistake in the settings, and every name that looks like a setting and is none. */
export function checkSettings(problems: readonly string[], warnings: readonly string[]): Finding[] {
  return [
    ...problems.map((problem) => bad('settings', problem, 'correct the setting')),
    ...warnings.map((text) => warning('settings', text, 'correct the name, or take it out')),
    ...(problems.length + warnings.length === 0
      ? [good('settings', 'all are readable and fit together')]
      : []),
  ];
}
