import type pg from 'pg';

/** Runs one statement of the library itself, with a time limit for its answer. */
export type Ask = <Row extends object>(text: string, values?: unknown[]) => Promise<Row[]>;

/** Time limit in ms for the answer to a statement of the library; only a dead connection reaches it. */
export const answerMs = 75_000;

export function askOn(pool: pg.Pool): Ask {
  return async <Row extends object>(text: string, values: unknown[] = []) => {
    const statement = { text, values, query_timeout: answerMs };
    const { rows } = await pool.query<Row & pg.QueryResultRow>(statement);
    return rows;
  };
}
