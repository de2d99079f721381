import fc from 'fast-check';

type Drawn<Values> = { [Index in keyof Values]: fc.Arbitrary<Values[Index]> };

/** Asserts that something holds for as many drawn values as `runs` says. */
export function forAll<Values extends [unknown, ...unknown[]]>(...drawn: Drawn<Values>) {
  return (runs: number, holds: (...values: Values) => Promise<boolean | void>): Promise<void> =>
    fc.assert(fc.asyncProperty<Values>(...drawn, holds), { numRuns: runs });
}

/** As `forAll`, of what waits for nothing. */
export function forAllSync<Values extends [unknown, ...unknown[]]>(...drawn: Drawn<Values>) {
  return (runs: number, holds: (...values: Values) => boolean | void): void =>
    fc.assert(fc.property<Values>(...drawn, holds), { numRuns: runs });
}
