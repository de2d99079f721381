/** A claim's place among those that fetch rows of the history, which do so one after the other. */
export type Place = {
  /** Resolves once every earlier place has been left. */
  front: Promise<void>;
  /** Lets the next one through; may be called again. */
  leave(): void;
};

/** Opens a line; each call of what it returns takes the last place in it. */
export function openLine(): () => Place {
  let last = Promise.resolve();
  return () => {
    const front = last;
    let leave = () => {};
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    last = front.then(() => left);
    return { front, leave };
  };
}
