import type { PgPool } from 'bullmq';

/**
 * Notifications that a queue has work. Those of the pool's own sessions bring the process nothing new; `onOthers` is
 * called for all others.
 */
export type QueueNews = { isOwn(processId: number): boolean; onOthers(): void };

/** Watches which sessions belong to the pool, once it is set. */
export function createQueueNews(): QueueNews & { watch(pool: PgPool): void } {
  const own = new Set<number>();
  return {
    isOwn: (processId) => own.has(processId),
    onOthers: () => undefined,
    watch(pool) {
      pool.on('connect', (client) => {
        const processId = Number(Reflect.get(client, 'processID'));
        own.add(processId);
        client.on('end', () => own.delete(processId));
      });
    },
  };
}
