import { programOnPath } from './program-on-path.ts';

/** The path of a Redis or Valkey server program on this machine. */
export function redisProgram(): string | undefined {
  return programOnPath(['redis-server', 'valkey-server']);
}
