import type { LedgerDb } from './connect-ledger.ts';
import { out, query, text, truth } from './query-rows.ts';

/** Reason why a database cannot hold a ledger, and the action that helps. */
export type TextProblem = { what: string; cure: string };

const cure =
  "use a database made by: create database NAME encoding 'UTF8' locale_provider libc locale 'C' template template0";

/**
 * Returns what keeps the database from holding the texts of a service: an encoding without most characters, or a locale
 * in which the lower case of I is not i, as in Turkish. States such as FINISHED would then not be recognised as final.
 */
export async function findTextProblem(db: LedgerDb): Promise<TextProblem | null> {
  const [row] = await query(db)`
    select current_setting('server_encoding') as ${out('encoding', text)}, lower('I') = 'i' as ${out('isUsual', truth)}`;
  const { encoding = '', isUsual = true } = row ?? {};
  // SQL_ASCII stores the bytes of UTF-8 as they are.
  if (encoding !== 'UTF8' && encoding !== 'SQL_ASCII')
    return { what: `the database has the encoding ${encoding}, which lacks characters`, cure };
  if (isUsual) return null;
  return { what: 'in the locale of the database the lower case of I is not i', cure };
}
