/** A claim's place in the line of those that fetch rows of the history, one after the other. */
export type Place = {
  /** Resolves once every earlier place has been left. */
  front: Promise<void>;
  /** Lets the next claim proceed; may be called again. */
  leave(): void;
};

/** Opens a line. Each call of the returned function takes the last place in it. */
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
