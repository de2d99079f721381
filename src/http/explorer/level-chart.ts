import { scaleLinear } from 'd3-scale';
import { curveStepAfter, line } from 'd3-shape';
import { html } from 'hono/html';
import { countWords } from '../../kernel/count-words.ts';
import type { Html } from '../page/page-frame.ts';
import { timeAxis } from './time-axis.ts';

const size = { width: 1_000, height: 140 } as const;

/** The level of a pool from `at` (ms since 1970) on. */
export type Level = { at: number; available: number };

/**
 * Draws the level of a pool as steps, from 0 to the highest level or the target. Broken lines mark the target and the
 * threshold below which the pool is filled.
 */
export function levelChart(
  levels: readonly Level[],
  { threshold, target }: { threshold: number | null; target: number | null },
  name: string,
): Html {
  const all = levels.map(({ available }) => available);
  const highest = Math.max(1, target ?? 0, ...all);
  const from = levels[0]?.at ?? 0;
  const to = levels.at(-1)?.at ?? from + 1;
  const x = scaleLinear().domain([from, to]).range([0, size.width]);
  const y = scaleLinear()
    .domain([0, highest])
    .range([size.height - 2, 2]);
  const curve = line<Level>()
    .x(({ at }) => x(at))
    .y(({ available }) => y(available))
    .curve(curveStepAfter)
    .digits(1);
  const mark = (level: number | null, kind: string) =>
    level === null
      ? ''
      : html`<line class="${kind}" x1="0" x2="${size.width}" y1="${y(level).toFixed(1)}" y2="${y(level).toFixed(1)}"/>`;
  const axis = timeAxis(from, to);
  const between = `between ${countWords(Math.min(...all))} and ${countWords(Math.max(...all))}`;
  return html`<div class="course"><p class="labels"><span>${countWords(highest)}</span></p>
<svg role="img" aria-label="${name}: ${between} available addresses ${axis.words}" viewBox="0 0 ${size.width} ${size.height}" preserveAspectRatio="none">${mark(target, 'target')}${mark(threshold, 'threshold')}<path d="${curve([...levels]) ?? ''}"/></svg>
<p class="labels"><span>0</span></p>
${axis.labels}</div>`;
}
