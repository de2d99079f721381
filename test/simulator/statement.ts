import { type SQL, sql } from 'drizzle-orm';

type Chunk = { queryChunks?: Chunk[]; value?: unknown; encoder?: unknown } | unknown;
type Answer = { rows: Record<string, unknown>[] };
export type Handler = (params: unknown[]) => Record<string, unknown>[];

/** Statements of the same words end at the same place: each chunk of words leads one step on. */
type Place = { next: Map<string, Place>; entry?: number };

/** Tables are made for every run, and have the same words each time: what was found in one holds for all. */
const starts = new Map<string, Place>();

/** Answers statements by the first entry whose words they hold; a statement that no entry knows is an error. */
export function createStatementTable(table: [string, Handler][]): (statement: SQL) => Answer {
  const allWords = table.map(([words]) => words).join('\n');
  const start = starts.get(allWords) ?? { next: new Map() };
  starts.set(allWords, start);
  return (statement) => {
    const { place, params } = readStatement(start, statement.queryChunks);
    place.entry ??= entryFor(table, statement);
    return { rows: table[place.entry]?.[1](params) ?? [] };
  };
}

function entryFor(table: [string, Handler][], statement: SQL): number {
  const text = wordsOf(statement.queryChunks).join('?');
  const entry = table.findIndex(([words]) => text.includes(words));
  if (entry === -1) throw new Error(`the model knows no such statement: ${text}`);
  return entry;
}

const StringChunk = sql`x`.queryChunks[0]?.constructor;

/** The place of a statement, and what was put into its words, in their order. */
function readStatement(start: Place, statement: Chunk[]): { place: Place; params: unknown[] } {
  const params: unknown[] = [];
  let place = start;
  const read = (chunks: Chunk[]): void => {
    for (const chunk of chunks) {
      if (chunk === null || typeof chunk !== 'object' || Array.isArray(chunk)) params.push(chunk);
      else if (chunk.constructor === StringChunk) {
        for (const words of (chunk as { value: string[] }).value) place = placeAfter(place, words);
      } else if ('queryChunks' in chunk) read(chunk.queryChunks as Chunk[]);
      else params.push((chunk as { value: unknown }).value);
    }
  };
  read(statement);
  return { place, params };
}

function placeAfter({ next }: Place, words: string): Place {
  let place = next.get(words);
  if (!place) {
    place = { next: new Map() };
    next.set(words, place);
  }
  return place;
}

function wordsOf(chunks: Chunk[]): string[] {
  return chunks.flatMap((chunk) => {
    if (chunk === null || typeof chunk !== 'object' || Array.isArray(chunk)) return [];
    if (chunk.constructor === StringChunk) return (chunk as { value: string[] }).value;
    return 'queryChunks' in chunk ? wordsOf(chunk.queryChunks as Chunk[]) : [];
  });
}
