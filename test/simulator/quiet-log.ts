import type { Log } from '../../src/kernel/log.ts';

const ignore = () => undefined;

export const quietLog: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
