import { type SQL, sql } from 'drizzle-orm';

/** A statement of the product as a model reads it: its words, and what was put into them, in their order. */
type Statement = { text: string; params: unknown[] };

type Chunk = { queryChunks?: Chunk[]; value?: unknown; encoder?: unknown } | unknown;
type Answer = { rows: Record<string, unknown>[] };
export type Handler = (params: unknown[]) => Record<string, unknown>[];

/** Answers statements by the first entry whose words they hold; a statement that no entry knows is an error. */
export function createStatementTable(table: [string, Handler][]): (statement: SQL) => Answer {
  const known = new Map<string, Handler>();
  return (statement) => {
    const { text, params } = readStatement(statement);
    let handler = known.get(text);
    if (!handler) {
      handler = table.find(([words]) => text.includes(words))?.[1];
      if (!handler) throw new Error(`the model knows no such statement: ${text}`);
      known.set(text, handler);
    }
    return { rows: handler(params) };
  };
}

const StringChunk = sql`x`.queryChunks[0]?.constructor;

function readStatement(statement: SQL): Statement {
  const words: string[] = [];
  const params: unknown[] = [];
  const read = (chunks: Chunk[]): void => {
    for (const chunk of chunks) {
      if (chunk === null || typeof chunk !== 'object' || Array.isArray(chunk)) params.push(chunk);
      else if (chunk.constructor === StringChunk)
        words.push(...(chunk as { value: string[] }).value);
      else if ('queryChunks' in chunk) read(chunk.queryChunks as Chunk[]);
      else params.push((chunk as { value: unknown }).value);
    }
  };
  read(statement.queryChunks);
  return { text: words.join('?'), params };
}
