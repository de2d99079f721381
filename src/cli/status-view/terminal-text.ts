import { styleText } from 'node:util';
import { printableText } from '../../service/decoding/printable-text.ts';

/** Style of every part of the view. Without colour, `paint` adds no escape codes. */
export type TextStyle = {
  /** Maximum length of a line, in columns. */
  width: number;
  paint(style: Parameters<typeof styleText>[0], text: string): string;
};

export function createCanvas({ width, useColor }: { width: number; useColor: boolean }): TextStyle {
  return {
    width,
    paint: (style, text) => (useColor ? styleText(style, text, { validateStream: false }) : text),
  };
}

export function cutTo(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, Math.max(0, width - 1))}…` : text;
}

/** Makes texts from outside printable, cuts them at `widthMax` columns and pads them to one length. */
export function columnOf(
  texts: string[],
  widthMax: number,
  side: 'left' | 'right' = 'left',
): string[] {
  const shown = texts.map((text) => cutTo(printableText(text), widthMax));
  const width = Math.max(0, ...shown.map((text) => text.length));
  return shown.map((text) => (side === 'left' ? text.padEnd(width) : text.padStart(width)));
}

/** Breaks a text into lines of whole words; splits a word that is longer than a line. */
export function wrap(text: string, width: number): string[] {
  const words = text
    .split(' ')
    .flatMap((word) => word.match(new RegExp(`.{1,${width}}`, 'gu')) ?? []);
  return fill(words, ' ', width);
}

/** Joins notes by dots, as many per line as fit. */
export function packNotes(notes: string[], width: number): string[] {
  return fill(
    notes.flatMap((note) => wrap(note, width)),
    ' · ',
    width,
  );
}

function fill(pieces: string[], separator: string, width: number): string[] {
  const lines: string[] = [];
  for (const piece of pieces) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + separator.length + piece.length <= width) {
      lines[lines.length - 1] = `${last}${separator}${piece}`;
    } else lines.push(piece);
  }
  return lines;
}
