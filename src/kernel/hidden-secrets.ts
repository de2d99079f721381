import { base64Forms } from './base64-forms.ts';

/** A transformed text. `from` and `to` map each of its characters to the original text. */
type View = { text: string; from: Uint32Array; to: Uint32Array };

/** Parts of secrets of one length. `beginnings` marks the hashes of their first three characters, a fast filter. */
type Parts = { length: number; texts: Set<string>; beginnings: Uint8Array };

/** Parts to find: `plain` in the text, `hex` in its letters and digits alone. */
export type HiddenForms = { plain: Parts[]; hex: Parts[] };

/** Minimum length; shorter forms would match ordinary words. */
const formMin = 8;
const partMin = 12;
const partMax = 16;
/** Minimum of different characters; a part with fewer is a run of zeros or a separator line. */
const varietyMin = 4;

const pemFrame = /-----(?:BEGIN|END)[^-\r\n]*-----/g;
/** Matches a run of backslashes only from its first one: starting a match at each of them takes 12 s for 64 KiB. */
const escapes =
  /(?<!\\)\\+(?:u\{?([\da-f]{4,6})\}?|x([\da-f]{2})|[nrtbf])|%u([\da-f]{4})|%([\da-f]{2})|&#x([\da-f]{1,6});|&#(\d{1,7});/gi;
/** Characters that may separate those of a wrapped or encoded secret. */
const separators = /[\s\p{C}\\]+/gu;
const hexSeparators = /0x|\\+[xnrt]?|[^\da-z\\]+/gi;

/** Prepares the parts that `findHidden` searches for. */
export function hiddenFormsOf(secrets: readonly string[]): HiddenForms {
  const bodies = secrets.map((secret) => secret.replace(pemFrame, '').trim());
  const bytes = bodies.flatMap(bytesOf);
  const hex = bytes.map((each) => each.toString('hex'));
  return {
    plain: partsOf(
      [
        ...bodies,
        ...bytes.flatMap(base64Forms),
        ...bytes.map((each) => each.toString('latin1')),
      ].map((form) => folded(rewrite(viewOf(form), separators, () => '')).text),
    ),
    hex: partsOf([
      ...hex,
      ...bodies.filter((body) => isHex(body)).map((body) => body.toLowerCase()),
    ]),
  };
}

/** Returns the ranges of secrets, whole or in parts, in any of the encodings; ranges may overlap. */
export function findHidden(text: string, { plain, hex }: HiddenForms): [number, number][] {
  const itself = viewOf(text);
  const once = rewrite(itself, escapes, decoded);
  const views = [itself];
  if (once.text !== text) views.push(once, rewrite(once, escapes, decoded));
  return [
    ...views.flatMap((view) => placesOf(folded(rewrite(view, separators, () => '')), plain)),
    ...placesOf(folded(rewrite(itself, hexSeparators, () => '')), hex),
  ];
}

/** Returns the bytes of a secret, and its decoded bytes if it is hexadecimal or base64. */
function bytesOf(body: string): Buffer[] {
  const joined = body.replace(/\s+/g, '');
  const isBase64 = /^[\w+/-]{16,}={0,2}$/.test(joined);
  return [
    Buffer.from(body),
    ...(isHex(joined) ? [Buffer.from(joined, 'hex')] : []),
    ...(isBase64 ? [Buffer.from(joined, 'base64')] : []),
  ];
}

function isHex(text: string): boolean {
  return text.length >= 16 && text.length % 2 === 0 && /^[\da-f]+$/i.test(text);
}

function partsOf(forms: string[]): Parts[] {
  const byLength = new Map<number, Parts>();
  for (const form of forms.filter(({ length }) => length >= formMin)) {
    const length = Math.min(
      form.length,
      Math.max(partMin, Math.min(partMax, Math.ceil((form.length * 2) / 3))),
    );
    const parts = byLength.get(length) ?? {
      length,
      texts: new Set(),
      beginnings: new Uint8Array(1 << 16),
    };
    byLength.set(length, parts);
    for (let at = 0; at + length <= form.length; at += 1) {
      const text = form.slice(at, at + length);
      if (new Set(text).size < varietyMin) continue;
      parts.texts.add(text);
      parts.beginnings[beginningOf(text, 0)] = 1;
    }
  }
  return [...byLength.values()];
}

function placesOf({ text, from, to }: View, wanted: Parts[]): [number, number][] {
  const places: [number, number][] = [];
  for (const { length, texts, beginnings } of wanted) {
    for (let at = 0; at + length <= text.length; at += 1) {
      if (beginnings[beginningOf(text, at)] === 0 || !texts.has(text.slice(at, at + length)))
        continue;
      places.push([from[at] ?? 0, to[at + length - 1] ?? 0]);
    }
  }
  return places;
}

function beginningOf(text: string, at: number): number {
  const [a, b, c] = [text.charCodeAt(at), text.charCodeAt(at + 1), text.charCodeAt(at + 2)];
  return (a * 31 * 31 + b * 31 + c) & 0xffff;
}

function viewOf(text: string): View {
  const from = new Uint32Array(text.length);
  const to = new Uint32Array(text.length);
  for (let at = 0; at < text.length; at += 1) {
    from[at] = at;
    to[at] = at + 1;
  }
  return { text, from, to };
}

/** Replaces each match in the view; the replacement, at most as long as the match, maps to its range. */
function rewrite(
  view: View,
  pattern: RegExp,
  replacement: (match: RegExpExecArray) => string,
): View {
  const pieces: string[] = [];
  // Typed arrays: lists of numbers leave so much garbage that collecting it blocks the event loop.
  const from = new Uint32Array(view.text.length);
  const to = new Uint32Array(view.text.length);
  let length = 0;
  const keep = (start: number, end: number) => {
    pieces.push(view.text.slice(start, end));
    from.set(view.from.subarray(start, end), length);
    to.set(view.to.subarray(start, end), length);
    length += end - start;
  };
  let kept = 0;
  for (const match of view.text.matchAll(pattern)) {
    const end = match.index + match[0].length;
    keep(kept, match.index);
    const text = replacement(match);
    pieces.push(text);
    from.fill(view.from[match.index] ?? 0, length, length + text.length);
    to.fill(view.to[end - 1] ?? 0, length, length + text.length);
    length += text.length;
    kept = end;
  }
  if (kept === 0) return view;
  keep(kept, view.text.length);
  return { text: pieces.join(''), from: from.subarray(0, length), to: to.subarray(0, length) };
}

function decoded([whole, ...codes]: RegExpExecArray): string {
  const at = codes.findIndex((code) => code !== undefined);
  if (at < 0) return ' ';
  const decimal = 5;
  const code = Number.parseInt(codes[at] ?? '', at === decimal ? 10 : 16);
  return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
}

/** Converts to lower case character by character, because the positions of a view must not change. */
function folded(view: View): View {
  const lower = view.text.toLowerCase();
  if (lower.length === view.text.length) return { ...view, text: lower };
  const text = Array.from({ length: view.text.length }, (_, at) => {
    const one = view.text.charAt(at).toLowerCase();
    return one.length === 1 ? one : view.text.charAt(at);
  }).join('');
  return { ...view, text };
}
