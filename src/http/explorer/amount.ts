import { html } from 'hono/html';
import { groupDigits } from '../../kernel/count-words.ts';
import { cut, type Html } from '../page/page-frame.ts';

const plain = /^(-?)(\d+)(?:\.(\d+))?$/;
/** Upper bound of the shown digits; the title attribute has the exact amount. */
const integerDigitsMax = 15;
const decimalsShown = 8;

/**
 * Shortens a decimal for readers: `1234567.50` → `1,234,567.5`, with at most eight decimals. A cut amount ends with
 * `…`. An amount gets an exponent if it has more than 15 digits before the point, or only zeros in its first eight
 * decimals.
 */
export function shortAmount(decimal: string): string {
  const [, sign = '', integer, fraction = ''] = plain.exec(decimal) ?? [];
  if (integer === undefined) return cut(decimal);
  const digits = integer.replace(/^0+(?=\d)/, '');
  const exact = fraction.replace(/0+$/, '');
  if (digits.length > integerDigitsMax)
    return withExponent(sign, digits + exact, digits.length - 1);
  const shown = exact.slice(0, decimalsShown);
  if (digits === '0' && exact !== '' && /^0*$/.test(shown)) {
    const zeros = /^0*/.exec(exact)?.[0].length ?? 0;
    return withExponent(sign, exact.slice(zeros), -(zeros + 1));
  }
  const grouped = groupDigits(digits);
  const mark = exact.length > shown.length ? '…' : '';
  return `${sign}${grouped}${shown === '' ? '' : '.'}${shown}${mark}`;
}

function withExponent(sign: string, digits: string, exponent: number): string {
  const rest = digits.slice(1, 5).replace(/0+$/, '');
  return `${sign}${digits[0]}${rest === '' ? '' : '.'}${rest}e${exponent < 0 ? '' : '+'}${exponent}`;
}

/** Shows an amount in short form, with the exact one in the title; amounts of a column are aligned at the point. */
export function amountCell(decimal: string | null): Html {
  if (decimal === null) return html`<td class="number soft">–<span class="decimals"></span></td>`;
  const short = shortAmount(decimal);
  const point = short.indexOf('.');
  const [integer, rest] = point < 0 ? [short, ''] : [short.slice(0, point), short.slice(point)];
  return html`<td class="number"><data value="${cut(decimal)}" title="${cut(decimal)}">${integer}<span class="decimals">${rest}</span></data></td>`;
}

/** `1,234.5 BTC` in running text, with the exact amount in the title. */
export function amountWords(decimal: string | null, symbol: string | null): Html {
  if (decimal === null) return html`<span class="soft">not known</span>`;
  return html`${shortData(decimal)} <bdi>${cut(symbol ?? '')}</bdi>`;
}

/** An amount in short form, with the exact one in the title. */
export function shortData(decimal: string): Html {
  return html`<data value="${cut(decimal)}" title="${cut(decimal)}">${shortAmount(decimal)}</data>`;
}
