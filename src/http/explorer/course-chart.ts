import { scaleLinear } from 'd3-scale';
import { curveStepAfter, line } from 'd3-shape';
import { html } from 'hono/html';
import type { BalanceCourse } from '../../ledger/reports/explorer/read-balance-course.ts';
import { drawnNumber } from '../page/drawn-number.ts';
import type { Html } from '../page/page-frame.ts';
import { shortAmount } from './amount.ts';
import { timeAxis } from './time-axis.ts';

const size = { width: 1_000, height: 140 } as const;

type Point = { time: number; value: number | null };

/**
 * Draws a balance as steps. Time runs evenly from left to right. The scale is from the lowest to the highest value,
 * which are written beside it. The line is broken where the balance was not known.
 */
export function courseChart({ times, balances }: BalanceCourse, name: string): Html {
  const points = times.map((time, index): Point => {
    const balance = balances[index] ?? null;
    return { time, value: balance === null ? null : drawnNumber(balance) };
  });
  const known = points.flatMap(({ value }, index) => (value === null ? [] : [{ value, index }]));
  const lowest = known.reduce(
    (one, other) => (other.value < one.value ? other : one),
    known[0] ?? none,
  );
  const highest = known.reduce(
    (one, other) => (other.value > one.value ? other : one),
    known[0] ?? none,
  );
  const x = scaleLinear()
    .domain([times[0] ?? 0, times.at(-1) ?? 1])
    .range([0, size.width]);
  const y = scaleLinear()
    .domain([lowest.value, highest.value])
    .range([size.height - 2, 2]);
  const curve = line<Point>()
    .defined(({ value }) => value !== null)
    .x(({ time }) => x(time))
    .y(({ value }) => y(value ?? 0))
    .curve(curveStepAfter)
    .digits(1);
  const [from, to] = [lowest, highest].map(({ index }) => shortAmount(balances[index] ?? '0'));
  const axis = timeAxis(times[0] ?? 0, times.at(-1) ?? 0);
  const label = `${name}: between ${from} and ${to} ${axis.words}`;
  return html`<div class="course"><p class="labels"><span>highest ${to}</span></p>
<svg role="img" aria-label="${label}" viewBox="0 0 ${size.width} ${size.height}" preserveAspectRatio="none"><path d="${curve(points) ?? ''}"/></svg>
<p class="labels"><span>lowest ${from}</span></p>
${axis.labels}</div>`;
}

const none = { value: 0, index: 0 };
