import { cutToBytes } from './json-text.ts';

const bodyLengthMax = 64 * 1024;
/**
 * Stays below the length of the kept body, so that the digits of the page's numbers before the rows do not move the
 * cut.
 */
const rowBytesMax = 60 * 1024;

/** Cause of a service-malformed error whose answer has a body; keeps the beginning of the body for a reject. */
export class UnreadableAnswer extends Error {
  /** A private field, because loggers print properties. */
  readonly #body: string;
  readonly #isCut: boolean;

  /** `isCut` means that the body continued after the part that was read. */
  constructor(body: string, isCut = false) {
    super('the answer could not be read');
    this.name = 'UnreadableAnswer';
    // A copy, because a slice would keep the whole body in memory.
    this.#body = Buffer.from(body.slice(0, bodyLengthMax)).toString();
    this.#isCut = isCut || body.length > bodyLengthMax;
  }

  /**
   * Returns the printable text of the rows if the answer is a page, else null. Leaves out the page's numbers, so that a
   * bad row gives the same text on any page.
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
 * Cause of a service-malformed error for an answer that the service may intend. It stands for bytes that are not UTF-8,
 * and for null or an empty list in place of a page. The client accepts it after several in a row.
 */
export class OddAnswer extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'OddAnswer';
  }
}
