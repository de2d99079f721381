import type { Context } from 'hono';
import { html } from 'hono/html';
import { toError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import type { LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import { databaseError } from '../../ledger/connection/database-error.ts';
import { sqlStateOf } from '../../ledger/connection/postgres-codes.ts';
import { keepAnswers } from '../page/keep-answers.ts';
import type { Site } from '../page/place.ts';
import { type ExplorerPage, renderExplorer } from './explorer-frame.ts';
import { nothingFound } from './nothing-found.ts';
import { BadParameter } from './query-params.ts';

/**
 * Reads from the ledger: one snapshot, read-only, 2 s for each statement. Rejects with a TimeoutError if too many read
 * at once.
 */
export type ReadLedger = <T>(work: (db: LedgerDb) => Promise<T>) => Promise<T>;

/**
 * Answer of a page: the page itself; nothing found (`sender`: older transactions may come from this address); a CSV
 * file; or a redirect to a path relative to the request's.
 */
export type Answer =
  | { page: ExplorerPage; sought?: string }
  | { nothingIn: ExplorerPage['current']; sought?: string; sender?: string }
  | { csv: string; name: string }
  | { goTo: string };

type Work = (read: ReadLedger) => Promise<Answer>;

/**
 * Reads and answers a request. Failures become pages. `root` leads from the request's path to the site's status page.
 */
type AnswerPage = (
  c: Context,
  root: string,
  current: ExplorerPage['current'],
  work: Work,
) => Promise<Response>;

/**
 * `answer` reads for each request. `answerShared` is for pages that are the same for every reader: requests with the
 * same address within 3 s get the same page, which says when it was read.
 */
export type PageAnswers = { answer: AnswerPage; answerShared: AnswerPage };

/** Status and text of the answer when a page cannot be made. */
type Failure = { status: 400 | 503; words: string };

type Rendered =
  | Extract<Answer, { csv: string } | { goTo: string }>
  | { html: string; status: 200 | 404 };

type RequestPath = { root: string; pathname: string };

/** A page has about 60,000 characters. */
const keepBounds = { keepMs: 3_000, entriesMax: 200, sizeMax: 8_000_000 };

/** Creates the functions that all pages share: rendering, and pages for failures. */
export function createPageAnswers(options: {
  read: ReadLedger;
  site: Site;
  log: Log;
}): PageAnswers {
  const { read, site, log } = options;
  const keep = keepAnswers<Rendered>(keepBounds, sizeOf);

  async function render(
    work: Work,
    { root, pathname }: RequestPath,
    readAt?: Date,
  ): Promise<Rendered> {
    const answer = await work(read);
    if ('csv' in answer || 'goTo' in answer) return answer;
    const { sought = '' } = answer;
    const isFound = 'page' in answer;
    const page = isFound
      ? answer.page
      : {
          title: 'Nothing found',
          current: answer.nothingIn,
          content: nothingFound(site, root, { pathname, sought, sender: answer.sender }),
        };
    const html = await renderExplorer(page, { site, root, sought, readAt });
    return { html: html.toString(), status: isFound ? 200 : 404 };
  }

  /** Sends what `make` renders, or a page that says why it failed. */
  const answerWith =
    (make: (c: Context, root: string, work: Work) => Promise<Rendered>): AnswerPage =>
    async (c, root, current, work) => {
      try {
        return send(c, await make(c, root, work));
      } catch (thrown) {
        const { status, words } = describeFailure(toError(thrown), log);
        const content = html`<section aria-label="Failure"><p class="bad">${words}</p></section>`;
        const title = status === 400 ? 'This page cannot be shown' : 'The ledger cannot be read';
        return c.html(renderExplorer({ title, current, content }, { site, root }), status);
      }
    };

  return {
    answer: answerWith((c, root, work) => render(work, { root, pathname: pathnameOf(c) })),
    answerShared: answerWith((c, root, work) => {
      const { pathname, search } = new URL(c.req.url);
      return keep(`${pathname}${search}`, () => render(work, { root, pathname }, new Date()));
    }),
  };
}

/** Returns the path as the request has it, not decoded. */
function pathnameOf(c: Context): string {
  return new URL(c.req.url).pathname;
}

function sizeOf(rendered: Rendered): number {
  if ('html' in rendered) return rendered.html.length;
  return 'csv' in rendered ? rendered.csv.length : 0;
}

function send(c: Context, rendered: Rendered): Response | Promise<Response> {
  if ('html' in rendered) return c.html(rendered.html, rendered.status);
  if ('goTo' in rendered) return c.redirect(rendered.goTo, 303);
  return c.body(rendered.csv, 200, {
    'Content-Type': 'text/csv; charset=utf-8',
    'Content-Disposition': `attachment; filename="${rendered.name}.csv"`,
  });
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
