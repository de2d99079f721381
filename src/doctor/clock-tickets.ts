import { abortableSleep } from '../kernel/abortable-sleep.ts';
import type { Clock } from '../kernel/clock.ts';
import type { TicketSource } from '../kernel/ticket.ts';

/**
 * Creates tickets from this process's clock, for when the shared source, the database, is unusable. Nonces strictly
 * increase within this process and are not coordinated with other processes.
 */
export function createClockTickets(
  clock: Clock,
  { maxRps, nonceUnit }: { maxRps: number | null; nonceUnit: 'ms' | 'us' },
): TicketSource {
  const spacingMs = maxRps === null ? 0 : 1000 / maxRps;
  let observation = 0;
  let lastNonce = 0;
  let nextSlotAt = 0;
  return {
    async take(_lane, signal) {
      const waitMs = nextSlotAt - performance.now();
      nextSlotAt = Math.max(nextSlotAt, performance.now()) + spacingMs;
      if (waitMs > 0) await abortableSleep(waitMs, signal);
      observation += 1;
      lastNonce = Math.max(lastNonce + 1, clock() * (nonceUnit === 'us' ? 1000 : 1));
      return { observation, nonce: String(lastNonce) };
    },
    async pause(ms) {
      nextSlotAt = Math.max(nextSlotAt, performance.now() + ms);
    },
  };
}
