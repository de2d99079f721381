import fc from 'fast-check';

type Drawn<Values> = { [Index in keyof Values]: fc.Arbitrary<Values[Index]> };

/** Asserts a property for `runs` drawn values. */
export function forAll<Values extends [unknown, ...unknown[]]>(...drawn: Drawn<Values>) {
  return (runs: number, holds: (...values: Values) => Promise<boolean | void>): Promise<void> =>
    fc.assert(fc.asyncProperty<Values>(...drawn, holds), { numRuns: runs });
}

/** Like `forAll`, for synchronous properties. */
export function forAllSync<Values extends [unknown, ...unknown[]]>(...drawn: Drawn<Values>) {
  return (runs: number, holds: (...values: Values) => boolean | void): void =>
    fc.assert(fc.property<Values>(...drawn, holds), { numRuns: runs });
}
