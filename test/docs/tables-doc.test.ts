import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readCatalogue } from '../../scripts/read-catalogue.ts';
import { renderTablesDoc } from '../../scripts/render-tables-doc.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger } = await withLedger();
const catalogue = await readCatalogue(ledger.pool);

test('docs/tables.md says what a freshly migrated database says; `npm run docs` writes it', () => {
  expect(readFileSync('docs/tables.md', 'utf8')).toBe(renderTablesDoc(catalogue));
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
