import type {
  Catalogue,
  CatalogueFunction,
  CatalogueIndex,
  CatalogueRelation,
} from './read-catalogue.ts';

/** Columns whose values meet, with Mermaid's cardinality between their tables and what one does to the other. */
const relations = `
transactions.order_no ||--o{ transaction_changes.order_no : changed
transactions.order_no |o--o{ rejects.order_no : could not be read whole
streams.name ||--o{ transactions.stream : counts
final_states.state |o--o{ transactions.state : judges
transactions.to_address }o--o{ addresses.address : went to
transactions.order_no |o--o| addresses.first_deposit_order_no : was the first to
address_requests.id |o--o{ addresses.generated_by : brought
pools.slip44 |o--o{ addresses.slip44 : is kept full with
pools.slip44 |o--o{ address_requests.slip44 : is filled by
balances.slip44,symbol,contract_address ||--o{ balance_changes.slip44,symbol,contract_address : changed
coins.slip44,symbol,contract_address ||--o| balances.slip44,symbol,contract_address : is held as
transactions.symbol }o--o{ balances.symbol : add up to
balances.symbol ||--o{ reconciliation_runs.symbol : was judged in
`
  .trim()
  .split('\n')
  .map(parseRelation);

type End = { table: string; columns: string[] };

function parseRelation(line: string): { from: End; cardinality: string; to: End; says: string } {
  const [from = '', cardinality = '', to = '', , ...says] = line.split(' ');
  return { from: parseEnd(from), cardinality, to: parseEnd(to), says: says.join(' ') };
}

function parseEnd(text: string): End {
  const [table = '', columns = ''] = text.split('.');
  return { table, columns: columns.split(',') };
}

/** The text of docs/tables.md. Throws where a relation above names a column that the catalogue does not have. */
export function renderTablesDoc(catalogue: Catalogue): string {
  return `# Tables, views and functions

All are in the schema \`ledger\`. \`npm run docs\` writes this page from the database's catalogue; \`\\d+ ledger.transactions\` shows
the same in psql. Questions and their queries are in [cookbook.md](cookbook.md).

${renderDiagram(catalogue)}

The database does not enforce these relations, because answers of the service come in any order. Tables that are not
drawn have no relations.

## Tables

${catalogue.tables.map(renderTable).join('\n\n')}

## Views

${catalogue.views.map(renderView).join('\n\n')}

## Functions

${catalogue.functions.map(renderFunction).join('\n\n')}
`;
}

function renderDiagram({ tables }: Catalogue): string {
  for (const end of relations.flatMap(({ from, to }) => [from, to])) assertKnown(end, tables);
  const ends = relations.flatMap(({ from, to }) => [from, to]);
  const drawn = tables.filter(({ name }) => ends.some((end) => end.table === name));
  return [
    '```mermaid',
    'erDiagram',
    ...relations.map(({ from, cardinality, to, says }) => {
      const [left, right] = [from.columns.join(', '), to.columns.join(', ')];
      const by = left === right ? left : `${left} = ${right}`;
      return `  ${from.table} ${cardinality} ${to.table} : "${says} (${by})"`;
    }),
    ...drawn.map((table) => renderEntity(table, ends)),
    '```',
  ].join('\n');
}

function assertKnown({ table, columns }: End, tables: CatalogueRelation[]): void {
  const found = tables.find(({ name }) => name === table)?.columns.map(({ name }) => name) ?? [];
  const strange = columns.filter((column) => !found.includes(column));
  if (strange.length > 0) throw new Error(`ledger.${table} has no column ${strange.join(', ')}`);
}

/** The columns of the key, and those that a relation goes by. */
function renderEntity({ name, columns, indexes }: CatalogueRelation, ends: End[]): string {
  const key = new Set(indexes.find(({ isPrimary }) => isPrimary)?.columns);
  const met = new Set(ends.filter((end) => end.table === name).flatMap((end) => end.columns));
  return [
    `  ${name} {`,
    ...columns
      .filter((column) => key.has(column.name) || met.has(column.name))
      .map(
        (column) =>
          `    ${shortType(column.type)} ${column.name}${key.has(column.name) ? ' PK' : ''}`,
      ),
    '  }',
  ].join('\n');
}

function renderTable({ name, comment, columns, indexes, checks }: CatalogueRelation): string {
  const rows = columns.map((column) => [
    `\`${column.name}\``,
    shortType(column.type),
    column.isNullable ? 'yes' : 'no',
    column.default === null ? '' : `\`${column.default}\``,
    column.comment ?? '',
  ]);
  return [
    `### ${name}\n\n${comment}.\n`,
    renderRows(['column', 'type', 'null', 'default', 'meaning'], rows),
    '',
    ...indexes.map(describeIndex),
    ...checks.map((check) => `- In every row \`${plainSql(check)}\`.`),
  ].join('\n');
}

function describeIndex({ name, isPrimary, isUnique, method, columns, condition }: CatalogueIndex) {
  const by = columns.map((column) => `\`${plainSql(column)}\``).join(', ');
  const where = condition === null ? '' : ` where \`${plainSql(condition)}\``;
  if (isPrimary) return `- Key: ${by}.`;
  if (isUnique) return `- No two rows${where} have the same ${by} (\`${name}\`).`;
  const how = method === 'btree' ? '' : `, ${method} over blocks of rows`;
  return `- Index on ${by}${where}${how} (\`${name}\`).`;
}

function renderView({ name, comment, columns }: CatalogueRelation): string {
  const rows = columns.map((column) => [
    `\`${column.name}\``,
    shortType(column.type),
    column.comment ?? '',
  ]);
  return `### ${name}\n\n${comment}.\n\n${renderRows(['column', 'type', 'meaning'], rows)}`;
}

function renderFunction(each: CatalogueFunction): string {
  const who = each.isPublic
    ? 'Every role that may use the schema can call it.'
    : 'Only roles that were granted `EXECUTE` can call it.';
  const call = `ledger.${each.name}(${shortType(each.arguments)}) returns ${shortType(each.result)}`;
  return `### ${each.name}\n\n\`${call}\`\n\n${each.comment}. ${who}`;
}

/** Columns are as wide as the formatter makes them, so that it finds nothing to change. */
function renderRows(head: string[], rows: string[][]): string {
  const cells = [head, ...rows].map((row) =>
    row.map((cell) => oneLine(cell).replaceAll('|', '\\|')),
  );
  const widths = head.map((_name, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0), 3));
  const line = (row: string[]) =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  const [first = [], ...others] = cells;
  return [line(first), line(widths.map((width) => '-'.repeat(width))), ...others.map(line)].join(
    '\n',
  );
}

function shortType(text: string): string {
  return text.replaceAll('timestamp with time zone', 'timestamptz');
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}

/** Without the casts and arrays that PostgreSQL writes into conditions. */
function plainSql(text: string): string {
  return oneLine(text)
    .replaceAll('::text', '')
    .replaceAll(/ = ANY \(ARRAY\[(.*?)\]\)/g, ' in ($1)')
    .replace(/^\((.*)\)$/, '$1');
}
