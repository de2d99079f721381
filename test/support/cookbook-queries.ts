import { readFileSync } from 'node:fs';

/** `name`: the question in its heading. */
export type CookbookQuery = { name: string; sql: string };

const cookbook = new URL('../../docs/cookbook.md', import.meta.url);

/** Every SQL block of docs/cookbook.md under its question, in the order of the file. */
export function readCookbookQueries(): CookbookQuery[] {
  const [, ...sections] = readFileSync(cookbook, 'utf8').split(/^#{2,} /m);
  return sections.flatMap((section) => {
    const [name = ''] = section.split('\n', 1);
    const blocks = [...section.matchAll(/^```sql\n(.*?);?\n```$/gms)];
    return blocks.map(([, sql = '']) => ({ name, sql }));
  });
}
