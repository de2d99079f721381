import { limits } from '../limits.ts';
import { decimalProblem } from './decimal-text.ts';
import { ExactNumber } from './exact-json.ts';
import { toStorableText } from './storable-text.ts';

const payloadLengthMax = limits.payloadBytes.max;
const payloadDepthMax = 200;
const extraBytesMax = limits.extraBytes.max;
const extraDepthMax = 16;
const extraExcerptLength = 2048;

/** Rules for writing one document: conversion of texts and numbers, and limits. */
type Style = {
  text(text: string): string;
  number(digits: string): string;
  depthMax: number;
  /** Characters that may still be written; below zero the rest is left out. */
  room: number;
};

/**
 * Returns the JSON text of a row as received, numbers with their own digits, readable by `parseExactJson`. Escapes make
 * all of it storable as text. Replaces values nested more than 200 deep by a note. Text over 64 KiB is cut and no
 * longer valid JSON; a bare NaN or Infinity is kept and is not valid JSON either.
 */
export function payloadText(row: unknown): string {
  const style: Style = {
    text: (text) => JSON.stringify(text),
    number: (digits) => digits,
    depthMax: payloadDepthMax,
    room: payloadLengthMax,
  };
  return cutToBytes(write(row, style, 0), payloadLengthMax);
}

/**
 * Returns JSON text of the fields that PostgreSQL's jsonb always accepts, or null without fields. Numbers beyond the
 * limits become text, and characters that jsonb rejects become U+FFFD. A note replaces values nested more than 16 deep,
 * and the whole object if it exceeds 16 KiB. The result is always an object, because the ledger merges the fields of
 * list and detail.
 */
export function extraText(fields: Record<string, unknown> | null): string | null {
  if (fields === null) return null;
  const style: Style = {
    text: (text) => JSON.stringify(toStorableText(text)),
    number: (digits) => (decimalProblem(digits) === null ? digits : JSON.stringify(digits)),
    depthMax: extraDepthMax,
    room: extraBytesMax,
  };
  const text = write(fields, style, 0);
  if (style.room >= 0 && Buffer.byteLength(text) <= extraBytesMax) return text;
  return JSON.stringify({ 'longer than 16 KiB, begins': cutToBytes(text, extraExcerptLength) });
}

function write(value: unknown, style: Style, depth: number): string {
  if (style.room < 0) return 'null';
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) {
    return spend(writeLeaf(value, style), style);
  }
  if (depth >= style.depthMax) return spend('"nested too deep"', style);
  const isList = Array.isArray(value);
  const parts: string[] = [];
  // Not Object.entries, which copies all of 120,000 values before the first is written.
  for (const name of isList ? value.keys() : Object.keys(value)) {
    if (style.room < 0) break;
    const label = isList ? '' : spend(`${writeText(String(name), style)}:`, style);
    parts.push(label + write((value as Record<string, unknown>)[name], style, depth + 1));
  }
  style.room -= parts.length + 2;
  return isList ? `[${parts.join(',')}]` : `{${parts.join(',')}}`;
}

function writeLeaf(value: unknown, style: Style): string {
  if (typeof value === 'string') return writeText(value, style);
  if (typeof value === 'number') return String(value);
  if (value instanceof ExactNumber) return style.number(value.text);
  return typeof value === 'boolean' ? String(value) : 'null';
}

/** Writes a text. Longer texts are first cut to the room that is left, because the document is cut there anyway. */
function writeText(text: string, style: Style): string {
  return style.text(text.slice(0, Math.max(0, style.room) + 1));
}

function spend(text: string, style: Style): string {
  style.room -= text.length;
  return text;
}

/** Returns the beginning of the text that takes at most `bytesMax` bytes of UTF-8. */
export function cutToBytes(text: string, bytesMax: number): string {
  if (text.length * 3 <= bytesMax || Buffer.byteLength(text) <= bytesMax) return text;
  // A character cut in half decodes to U+FFFD.
  return Buffer.from(text)
    .subarray(0, bytesMax)
    .toString()
    .replace(/\uFFFD$/, '');
}
