import { limits } from '../../src/service/limits.ts';

const head = `# Limits

What the service answers is not trusted to be reasonable in size. Each bound has a refusal or a reject behind it: nothing
is cut off in silence. What waits, and for how long, stands in [operations.md](operations.md#limits).

`;

/** The text of `docs/limits.md`. */
export function renderLimitsDoc(): string {
  const rows = Object.values(limits).map(({ max, unit, of, beyond }) => {
    const amount = `${max.toLocaleString('en-US')} ${unit}`.trim();
    return `| ${of} | ${amount} | ${beyond} |`;
  });
  const table = ['| of | at the most | more than that |', '| --- | --- | --- |', ...rows, ''];
  return head + table.join('\n');
}
