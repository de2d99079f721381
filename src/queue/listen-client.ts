import pg from 'pg';

/**
 * Interval between two wake-ups. Each costs the database several transactions, and any role that may connect can send
 * thousands.
 */
const wakeUpsEveryMs = 100;

/**
 * Builds the client class of the connection on which BullMQ waits for jobs. BullMQ listens for its errors only between
 * ready and close. An error just before or after would end the process, or BullMQ would keep a dead connection as
 * ready.
 *
 * Passes on the first notification of its queue in each tenth of a second at once, and the last of the others at its
 * end. Drops notifications of other queues.
 */
export function listenClientOf(queueName: string): typeof pg.Client {
  return class ListenClient extends pg.Client {
    private lost: Error | null = null;
    /** Channels within their tenth of a second, and the notification to pass on at its end. */
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
