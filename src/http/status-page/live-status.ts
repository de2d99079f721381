import type { Page } from '../page/page-frame.ts';

/** Receiver of each new page; `end` is called when no more pages will follow. */
type Listener = { onPage(page: Page): void; end(): void };

export type LiveStatus = {
  /**
   * Adds a listener, which gets a page at once and then with each tick. Returns the function that removes it, or null
   * after `close` or when there are too many listeners.
   */
  listen(listener: Listener): (() => void) | null;
  /** Ends all listeners and accepts no more. */
  close(): void;
};

/**
 * Renders one page for all listeners every `everyMs`. Without listeners no timer runs and nothing is read. `render`
 * must not reject.
 */
export function createLiveStatus(options: {
  render: () => Promise<Page>;
  everyMs: number;
  listenersMax: number;
}): LiveStatus {
  const { render, everyMs, listenersMax } = options;
  const listeners = new Set<Listener>();
  let timer: NodeJS.Timeout | undefined;
  let isRendering = false;
  let isClosed = false;

  async function tick(): Promise<void> {
    timer = undefined;
    isRendering = true;
    const page = await render();
    isRendering = false;
    for (const listener of listeners) listener.onPage(page);
    startTimer();
  }

  function startTimer(): void {
    if (timer !== undefined || isRendering || listeners.size === 0) return;
    timer = setTimeout(() => void tick(), everyMs);
  }

  function leave(listener: Listener): void {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearTimeout(timer);
    timer = undefined;
  }

  return {
    listen(listener) {
      if (isClosed || listeners.size >= listenersMax) return null;
      listeners.add(listener);
      startTimer();
      void render().then((page) => listeners.has(listener) && listener.onPage(page));
      return () => leave(listener);
    },
    close() {
      isClosed = true;
      for (const listener of [...listeners]) {
        leave(listener);
        listener.end();
      }
    },
  };
}
