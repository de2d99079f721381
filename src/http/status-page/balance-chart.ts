import { scaleLinear } from 'd3-scale';
import { area, curveStepAfter, line } from 'd3-shape';
import { html } from 'hono/html';
import type { BalanceStatus } from '../../ledger/reports/ledger-status.ts';
import { drawnNumber } from '../page/drawn-number.ts';
import { cut, dateWords, type Html } from '../page/page-frame.ts';

const size = { width: 160, height: 28 } as const;

type Point = { time: number; value: number };

/** Draws the balance as steps from its first known change until `readAt`; null with fewer than two known balances. */
export function balanceChart(
  { symbol, balance, history }: BalanceStatus,
  readAt: string,
): Html | null {
  const known = history.flatMap(({ at, balance: then }): Point[] =>
    then === null ? [] : [{ time: Date.parse(at), value: drawnNumber(then) }],
  );
  const [first, last] = [known[0], known.at(-1)];
  const since = history[0]?.at;
  if (!first || !last || since === undefined || known.length < 2) return null;
  const points = [...known, { time: Math.max(Date.parse(readAt), last.time), value: last.value }];
  const { x, y } = scales(points);
  const curve = line<Point>()
    .x(({ time }) => x(time))
    .y(({ value }) => y(value))
    .curve(curveStepAfter)
    .digits(1);
  const below = area<Point>()
    .x(({ time }) => x(time))
    .y0(size.height)
    .y1(({ value }) => y(value))
    .curve(curveStepAfter)
    .digits(1);
  const changes = history.length === 2 ? '1 change' : `${history.length - 1} changes`;
  const label = `${cut(symbol)}: ${changes} since ${dateWords(since)}, now ${cut(balance ?? 'unknown')}`;
  return html`<svg role="img" aria-label="${label}" viewBox="0 0 ${size.width} ${size.height}" preserveAspectRatio="none">
<path class="area" d="${below(points)}"/><path class="line" d="${curve(points)}"/></svg>`;
}

/** Leaves 2 units of room above and below for the width of the line. A constant balance runs through the middle. */
function scales(points: Point[]) {
  const values = points.map(({ value }) => value);
  const times = points.map(({ time }) => time);
  return {
    x: scaleLinear()
      .domain([Math.min(...times), Math.max(...times)])
      .range([0, size.width]),
    y: scaleLinear()
      .domain([Math.min(...values), Math.max(...values)])
      .range([size.height - 2, 2]),
  };
}
