import { editsOf, type PlantedBug } from './planted-bug.ts';

const head = `# Planted bugs

Would the tests notice? Each row is a mistake that somebody could make in this program. \`npm run planted-bugs\` makes
them, one at a time, in a copy of the work tree that it throws away: it must still compile, and the test that is named
must fail there, while it passes where nothing is planted. One that survives ends the run with 1. None of them is in
\`src\`, and nothing there can switch one on.

\`npm run planted-bugs -- --only <bug>\` makes one. The table is written by \`npm run docs\` from
\`test/mutation/planted-bugs.ts\`.

| bug | promise | what is wrong | where | caught by |
| --- | --- | --- | --- | --- |
`;

/** docs/planted-bugs.md. */
export function renderPlantedBugs(bugs: PlantedBug[]): string {
  return head + bugs.map(row).join('');
}

function row(bug: PlantedBug): string {
  const places = [...new Set(editsOf(bug).map((edit) => `\`${edit.in}\``))].join(', ');
  const cells = [`\`${bug.id}\``, bug.promise, bug.wrong, places, bug.caughtBy];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`;
}
