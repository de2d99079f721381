import type pg from 'pg';

/** Runs one statement of the library's own, with a bound on the wait for its answer. */
export type Ask = <Row extends object>(text: string, values?: unknown[]) => Promise<Row[]>;

/** Upper bound in ms of the wait for an answer to a statement of the library: only a dead connection reaches it. */
export const answerMs = 75_000;

export function askOn(pool: pg.Pool): Ask {
  return async <Row extends object>(text: string, values: unknown[] = []) => {
    const statement = { text, values, query_timeout: answerMs };
    const { rows } = await pool.query<Row & pg.QueryResultRow>(statement);
    return rows;
  };
}
