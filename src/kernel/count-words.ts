/** 1234567 → `1,234,567`. An integer only: Node's formatter reads its tables for 45 ms at its first use. */
export function countWords(count: number): string {
  return groupDigits(String(count));
}

/** 1 → `1 row`, 2 → `2 rows`. */
export function countOf(count: number, one: string, many: string): string {
  return `${countWords(count)} ${count === 1 ? one : many}`;
}

/** Puts a comma between the thousands of an integer's digits. */
export function groupDigits(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ',');
}
