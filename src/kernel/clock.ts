/** Unix time in milliseconds. Handed in, so that a test can hold it. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();
