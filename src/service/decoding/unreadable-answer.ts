import { cutToBytes } from './json-text.ts';

const bodyLengthMax = 64 * 1024;
/**
 * Shorter than the kept body: the row begins behind the page's numbers, and their digits must not
 * move the cut.
 */
const rowBytesMax = 60 * 1024;

/** The cause of a service-malformed whose answer has a body: its beginning, for a reject. */
export class UnreadableAnswer extends Error {
  /** Not a property: loggers print properties. */
  readonly #body: string;
  readonly #isCut: boolean;

  /** `isCut`: the body went on beyond what was read. */
  constructor(body: string, isCut = false) {
    super('the answer could not be read');
    this.name = 'UnreadableAnswer';
    // A copy: a slice would keep the whole body in memory.
    this.#body = Buffer.from(body.slice(0, bodyLengthMax)).toString();
    this.#isCut = isCut || body.length > bodyLengthMax;
  }

  /**
   * The text of the rows of an answer that is a page, printable; null when it is none. The page's
   * numbers are left out: an answer with the same bad row gives the same text wherever the row
   * stands.
   */
  rowsText(): string | null {
    const start = /"list"\s*:\s*\[/.exec(this.#body);
    if (!start) return null;
    const rows = this.#body.slice(start.index + start[0].length);
    const end = this.#isCut ? -1 : rows.lastIndexOf(']');
    const printable = (end < 0 ? rows : rows.slice(0, end))
      .replace(/[\t\n\r]+/g, ' ')
      .replace(/\p{C}/gu, '\uFFFD');
    return cutToBytes(printable.trim(), rowBytesMax) || null;
  }
}

/**
 * The cause of a service-malformed for an answer that may be what the service means: bytes that are
 * not UTF-8, a list without a page around it. It is accepted when the same comes several times in a
 * row.
 */
export class OddAnswer extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'OddAnswer';
  }
}
