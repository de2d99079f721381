/** Bounds of the data that are read from a hint's body. */
const orderNosMax = 50;
const orderNoLengthMax = 128;
const depthMax = 8;
const valuesMax = 5_000;

/** Names of fields that hold an order number or a list of them, in lower case and without separators. */
const orderFields = /^order(no|id|number|num)s?$/;

/**
 * Returns the order numbers that a JSON text names, each once, at most 50: texts in fields such as `orderNo`,
 * `order_id` or `orderNumbers` at any usual depth, or a plain list. A text that is no JSON names none.
 */
export function readOrderNumbers(text: string): string[] {
  const found = new Set<string>();
  let values = 0;
  const visit = (value: unknown, isOrder: boolean, depth: number): void => {
    values += 1;
    if (depth > depthMax || values > valuesMax || found.size >= orderNosMax) return;
    for (const [name, each] of entriesOf(value)) {
      visit(each, name === null ? isOrder : isOrderField(name), depth + 1);
    }
    const orderNo = isOrder ? orderNoOf(value) : null;
    if (orderNo !== null) found.add(orderNo);
  };
  const parsed = parse(text);
  visit(parsed, Array.isArray(parsed), 0);
  return [...found];
}

/** Returns the values inside a list (without names) or an object. */
function entriesOf(value: unknown): [name: string | null, value: unknown][] {
  if (Array.isArray(value)) return value.map((each) => [null, each]);
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

function isOrderField(name: string): boolean {
  return (
    name.length <= orderNoLengthMax && orderFields.test(name.replace(/[-_ ]/g, '').toLowerCase())
  );
}

function orderNoOf(value: unknown): string | null {
  const text = Number.isSafeInteger(value) ? String(value) : value;
  if (typeof text !== 'string' || text.length > orderNoLengthMax) return null;
  const trimmed = text.trim();
  return /^[\x21-\x7e]+$/.test(trimmed) ? trimmed : null;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
