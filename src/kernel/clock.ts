/** Unix time in milliseconds; a parameter, so that tests can control it. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();
