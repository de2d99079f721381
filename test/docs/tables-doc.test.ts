import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readCatalogue } from '../../scripts/read-catalogue.ts';
import { renderCommandsDoc } from '../../scripts/render-commands-doc.ts';
import { renderMetricsDoc } from '../../scripts/render-metrics-doc.ts';
import { renderTablesDoc } from '../../scripts/render-tables-doc.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger } = await withLedger();
const catalogue = await readCatalogue(ledger.pool);

test('docs/tables.md says what a freshly migrated database says; `npm run docs` writes it', () => {
  expect(readFileSync('docs/tables.md', 'utf8')).toBe(renderTablesDoc(catalogue));
});

test('docs/commands.md is the help of the program, docs/metrics.md what it exports; `npm run docs` writes them', async () => {
  expect(readFileSync('docs/commands.md', 'utf8')).toBe(renderCommandsDoc());
  expect(readFileSync('docs/metrics.md', 'utf8')).toBe(await renderMetricsDoc());
});

test('every table, view, function and column says what it is', () => {
  const relations = [...catalogue.tables, ...catalogue.views];
  const unsaid = [
    ...[...relations, ...catalogue.functions].filter(({ comment }) => !comment),
    ...relations.flatMap(({ name: relation, columns }) =>
      columns.filter(({ comment }) => !comment).map(({ name }) => ({ relation, name })),
    ),
  ];
  expect(unsaid).toEqual([]);
});
