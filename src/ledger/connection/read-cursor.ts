import type pg from 'pg';

/** Rows of one FETCH. Two batches are in memory at a time. */
export const batchRows = 4_000;

/** Hands every value on as the text that PostgreSQL sent, so that no digit is lost and nothing is parsed twice. */
const asText = { getTypeParser: () => (value: string | Buffer) => value };

/**
 * Reads the rows of `select` in batches through a cursor, so that memory does not grow with the result; needs an open
 * transaction. Values are texts or null; `decode` checks and names them. The next batch is requested before the
 * caller has used the present one.
 */
export async function* readCursor<T>(
  client: pg.Client,
  name: string,
  select: string,
  values: unknown[],
  decode: (row: unknown[]) => T,
): AsyncGenerator<T[]> {
  await inTurn(client, () =>
    client.query(`declare ${name} no scroll cursor for ${select}`, values),
  );
  const fetchNext = async (): Promise<unknown[][]> => {
    const text = `fetch ${batchRows} from ${name}`;
    const fetching = () => client.query({ text, rowMode: 'array', types: asText });
    return (await inTurn(client, fetching)).rows;
  };
  for (let next = fetchNext(); ; ) {
    const rows = await next;
    const isLast = rows.length < batchRows;
    if (!isLast) next = fetchNext();
    // The caller may stop before it awaits this batch.
    next.catch(() => undefined);
    if (rows.length > 0) yield rows.map(decode);
    if (isLast) break;
  }
  await inTurn(client, () => client.query(`close ${name}`));
}

/** Reads few rows with one statement, as one batch. Once it is sent, the database works while the caller does. */
export async function* readBatch<T>(
  client: pg.Client,
  select: string,
  values: unknown[],
  decode: (row: unknown[]) => T,
): AsyncGenerator<T[]> {
  const reading = () => client.query({ text: select, values, rowMode: 'array', types: asText });
  const { rows } = await inTurn(client, reading);
  if (rows.length > 0) yield rows.map(decode);
}

/** Settles as the latest statement of a connection does. */
const latest = new WeakMap<pg.Client, Promise<unknown>>();

/**
 * Runs statements of several cursors one after another, because pg warns about a statement that is queued behind a
 * waiting one. After a failure all further ones fail with the same error, because the transaction can run none of them.
 */
function inTurn<T>(client: pg.Client, run: () => Promise<T>): Promise<T> {
  const before = latest.get(client) ?? Promise.resolve();
  const result = before.then(run);
  result.catch(() => undefined);
  latest.set(client, result);
  return result;
}

/** Reads the parts one after another, each a batch ahead of the caller, so that database and caller work at once. */
export async function* readAhead<Part, T>(
  parts: readonly Part[],
  read: (part: Part, index: number) => AsyncGenerator<T[]>,
): AsyncGenerator<T[]> {
  const open = (index: number) => {
    const part = parts[index];
    if (part === undefined) return null;
    const batches = read(part, index);
    const first = batches.next();
    first.catch(() => undefined);
    return { batches, first };
  };
  let next = open(0);
  for (let index = 1; next !== null; index += 1) {
    const { batches, first } = next;
    let batch = await first;
    next = open(index);
    while (!batch.done) {
      yield batch.value;
      batch = await batches.next();
    }
  }
}
