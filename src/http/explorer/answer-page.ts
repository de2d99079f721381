import type { Context } from 'hono';
import { html } from 'hono/html';
import { toError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { databaseError, type LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import { sqlStateOf } from '../../ledger/connection/postgres-codes.ts';
import type { Site } from '../place.ts';
import { type ExplorerPage, renderExplorer } from './explorer-frame.ts';
import { BadParameter } from './query-params.ts';

/**
 * Reads from the ledger: one snapshot, read-only, 2 s for each statement. Rejects with a TimeoutError if too many read
 * at once.
 */
export type ReadLedger = <T>(work: (db: LedgerDb) => Promise<T>) => Promise<T>;

/** A page with its HTTP status; or text of another type; or the path to go on to, relative to the request's. */
export type Answer =
  | { page: ExplorerPage; status?: 200 | 404; sought?: string }
  | { csv: string; name: string }
  | { goTo: string };

export type PageAnswers = {
  /** Reads, and answers. Failures become pages. `root` leads from the request's path to the site's status page. */
  answer(
    c: Context,
    root: string,
    current: ExplorerPage['current'],
    work: (read: ReadLedger) => Promise<Answer>,
  ): Promise<Response>;
};

/** What to tell a reader whose page could not be made. */
type Failure = { status: 400 | 503; words: string };

/** Creates what all pages share: their form, and pages for what goes wrong. */
export function createPageAnswers(options: {
  read: ReadLedger;
  site: Site;
  log: Log;
}): PageAnswers {
  const { read, site, log } = options;
  return {
    async answer(c, root, current, work) {
      try {
        const answer = await work(read);
        if ('goTo' in answer) return c.redirect(answer.goTo, 303);
        if ('csv' in answer) {
          return c.body(answer.csv, 200, {
            'Content-Type': 'text/csv; charset=utf-8',
            'Content-Disposition': `attachment; filename="${answer.name}.csv"`,
          });
        }
        const { page, status, sought } = answer;
        return c.html(
          renderExplorer(page, { site, root, ...(sought === undefined ? {} : { sought }) }),
          status,
        );
      } catch (thrown) {
        const { status, words } = describeFailure(toError(thrown), log);
        const content = html`<section aria-label="Failure"><p class="bad">${words}</p></section>`;
        const title = status === 400 ? 'This page cannot be shown' : 'The ledger cannot be read';
        return c.html(renderExplorer({ title, current, content }, { site, root }), status);
      }
    },
  };
}

/** The log gets the server's words only: a statement's parameters may be a customer's reference. */
function describeFailure(error: Error, log: Log): Failure {
  if (error instanceof BadParameter) return { status: 400, words: error.message };
  if (error.name === 'TimeoutError')
    return { status: 503, words: 'Too many pages are being read at once. Try again in a moment.' };
  const state = sqlStateOf(error) ?? '';
  if (state.startsWith('22'))
    return { status: 400, words: 'A value of this address is out of range.' };
  log.warn({ reason: databaseError(error).message }, 'a page could not be read');
  if (state === '57014')
    return {
      status: 503,
      words: 'Reading took longer than 2 s and was stopped. A shorter period helps.',
    };
  return { status: 503, words: 'The database does not answer. The log says why.' };
}
