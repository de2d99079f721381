import { countWords } from '../../kernel/count-words.ts';
import type { PartFacts } from './measure-progress.ts';

/** `3,000 of 12,000 rows · 30 pages read · 300 rows/s · 30 s left`, without the values that are unknown. */
export function partWords(facts: PartFacts): string {
  const { done, total, pages, tookSeconds } = facts;
  const words = [
    `${countWords(done)}${total === null ? '' : ` of ${countWords(Math.max(total, done))}`} rows`,
    ...(pages === null ? [] : [`${countWords(pages)} ${pages === 1 ? 'page' : 'pages'} read`]),
    ...(tookSeconds === null ? paceWords(facts) : [`in ${durationWords(tookSeconds)}`]),
  ];
  return words.join(' · ');
}

function paceWords({ rowsPerSecond, requestsPerSecond, secondsLeft }: PartFacts): string[] {
  const pace =
    requestsPerSecond === null
      ? rateWords(rowsPerSecond, 'rows/s')
      : rateWords(requestsPerSecond, 'requests/s');
  return [
    pace,
    secondsLeft === null ? 'time left unknown' : `${durationWords(secondsLeft)} left`,
  ].filter((words) => words !== '');
}

function rateWords(perSecond: number | null, unit: string): string {
  if (perSecond === null) return '';
  const digits = perSecond < 100 ? 1 : 0;
  return `${perSecond.toLocaleString('en-US', { maximumFractionDigits: digits })} ${unit}`;
}

/** 45 → `45 s`, 468 → `7 min 48 s`, 7,500 → `2 h 5 min`, 273,600 → `3 days 4 h`. */
export function durationWords(seconds: number): string {
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  const hours = Math.floor(minutes / 60);
  if (whole < 60) return `${whole} s`;
  if (minutes < 60) return `${minutes} min ${whole % 60} s`;
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${countWords(Math.floor(hours / 24))} days ${hours % 24} h`;
}
