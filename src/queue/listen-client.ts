import pg from 'pg';

/** A wake-up costs the database several transactions, and any role that may connect can send thousands. */
const wakeUpsEveryMs = 100;

/**
 * The connection on which BullMQ waits for jobs. BullMQ looks for its end from when it is ready until it closes it. A
 * server that ends it in the same breath as either would end the process; and as ready it would be kept for ever.
 *
 * Of the notifications for its queue the first of a tenth of a second is passed on at once, the others as one at its
 * end; those for other queues are dropped.
 */
export function listenClientOf(queueName: string): typeof pg.Client {
  return class ListenClient extends pg.Client {
    private lost: Error | null = null;
    /** Channels of the running tenth of a second, and the notification that waits for its end. */
    private readonly held = new Map<string, pg.Notification | null>();

    constructor(config: pg.ClientConfig) {
      super(config);
      this.on('error', (error) => {
        this.lost = error;
      });
    }

    override async connect(): Promise<pg.Client> {
      await super.connect();
      if (this.lost) throw this.lost;
      return this;
    }

    override emit(event: string | symbol, ...values: unknown[]): boolean {
      if (event !== 'notification') return super.emit(event, ...values);
      const notification = values[0] as pg.Notification;
      if (notification.payload !== queueName) return false;
      if (this.held.has(notification.channel)) {
        this.held.set(notification.channel, notification);
        return true;
      }
      return this.passOn(notification);
    }

    override end(): Promise<void> {
      this.on('error', () => undefined);
      return super.end();
    }

    private passOn(notification: pg.Notification): boolean {
      const { channel } = notification;
      this.held.set(channel, null);
      setTimeout(() => {
        const last = this.held.get(channel);
        this.held.delete(channel);
        if (last) this.passOn(last);
      }, wakeUpsEveryMs).unref();
      return super.emit('notification', notification);
    }
  };
}
