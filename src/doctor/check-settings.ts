import { badFinding, type Finding, okFinding, warningFinding } from './finding.ts';

/**
 * Reports every mistake in the settings, every unknown name that looks like a setting, and the files they come from.
 */
export function checkSettings(
  problems: readonly string[],
  warnings: readonly string[],
  files: readonly string[],
): Finding[] {
  return [
    ...(files.length > 0 ? [okFinding('settings-files', files.join(', '))] : []),
    ...problems.map((problem) => badFinding('settings', problem, 'correct the setting')),
    ...warnings.map((text) =>
      warningFinding('settings', text, 'correct it, or ignore this if it is intended'),
    ),
    ...(problems.length + warnings.length === 0
      ? [okFinding('settings', 'all are valid and consistent')]
      : []),
  ];
}
