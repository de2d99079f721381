import { scaleBand, scaleLinear } from 'd3-scale';
import { area, curveStepAfter } from 'd3-shape';
import { html, raw } from 'hono/html';
import { countWords } from '../../kernel/count-words.ts';
import type { CoinFlow, DailyFlows } from '../../ledger/reports/read-flows.ts';
import { drawnNumber } from '../page/drawn-number.ts';
import { cut, type Html } from '../page/page-frame.ts';

const heightPx = 170;
/** Half a line of text, for the labels of the highest and the lowest tick. */
const marginPx = 10;

/** Draws two bars for each day: deposits above the axis, withdrawals below. */
export function countChart({ days, deposits, withdrawals }: DailyFlows): Html {
  const y = scaleLinear()
    .domain([-Math.max(1, ...withdrawals), Math.max(1, ...deposits)])
    .range([heightPx - marginPx, marginPx])
    .nice(4);
  const x = scaleBand<number>().domain(days.keys()).range([0, 100]).paddingInner(0.25);
  const ticks = y.ticks(4).filter(Number.isInteger);
  const bars = days.map((day, index) => {
    const left = `${round(x(index) ?? 0)}%`;
    const width = `${round(x.bandwidth())}%`;
    const top = y(deposits[index] ?? 0);
    const bottom = y(-(withdrawals[index] ?? 0));
    // Contains only numbers, dates and fixed words, so nothing needs escaping.
    return `<g><title>${day}: ${deposits[index]} deposits, ${withdrawals[index]} withdrawals</title>
<rect class="bar-in" x="${left}" width="${width}" y="${round(top)}" height="${round(y(0) - top)}"/>
<rect class="bar-out" x="${left}" width="${width}" y="${round(y(0))}" height="${round(bottom - y(0))}"/>
<rect class="day" x="${left}" width="${width}" y="0" height="${heightPx}"/></g>`;
  });
  const label = `Transactions per day from ${days[0]} to ${days.at(-1)}: at most ${countWords(Math.max(...deposits))} deposits and ${countWords(Math.max(...withdrawals))} withdrawals on one day`;
  return html`<div class="chart">
<svg class="ticks" height="${heightPx}" aria-hidden="true">${ticks.map((tick) => html`<text x="90%" y="${round(y(tick))}">${countWords(Math.abs(tick))}</text>`)}</svg>
<svg role="img" aria-label="${label}" height="${heightPx}">
${ticks.map((tick) => html`<line class="grid" x1="0" x2="100%" y1="${round(y(tick))}" y2="${round(y(tick))}"/>`)}
${raw(bars.join('\n'))}
<line class="axis" x1="0" x2="100%" y1="${round(y(0))}" y2="${round(y(0))}"/>
</svg>
${dayRange(days)}
</div>`;
}

const multiple = { width: 300, height: 56 } as const;

/** Draws the daily amounts of one coin in the same form, small and with its own scale. */
export function coinChart({ symbol, deposit, withdraw }: CoinFlow, days: string[]): Html {
  const amounts = [deposit, withdraw].map(({ daily }) => daily.map(drawnNumber));
  const [ins = [], outs = []] = amounts;
  const highest = Math.max(...ins, ...outs) || 1;
  const y = scaleLinear().domain([-highest, highest]).range([multiple.height, 0]);
  const x = scaleLinear().domain([0, days.length]).range([0, multiple.width]);
  const silhouette = area<number>()
    .x((_, index) => x(index))
    .y0(y(0))
    .y1((amount) => y(amount))
    .curve(curveStepAfter)
    .digits(1);
  // The last value is repeated, so that the last day's step is as wide as the others.
  const draw = (values: number[]) => silhouette([...values, ...values.slice(-1)]);
  const label = `${cut(symbol)} per day from ${days[0]} to ${days.at(-1)}: in all ${cut(deposit.total)} deposited, ${cut(withdraw.total)} withdrawn`;
  return html`<svg class="multiple" role="img" aria-label="${label}" viewBox="0 0 ${multiple.width} ${multiple.height}"
preserveAspectRatio="none"><path class="bar-in" d="${draw(ins)}"/><path class="bar-out" d="${draw(outs.map((amount) => -amount))}"/>
<line class="axis" x1="0" x2="${multiple.width}" y1="${y(0)}" y2="${y(0)}"/></svg>`;
}

function dayRange(days: string[]): Html {
  return html`<p class="days"><span>${days[0]}</span><span>${days.at(-1)}, today</span></p>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
