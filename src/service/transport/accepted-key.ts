import type { Failure } from './judge-answer.ts';

/** Remembers the answers that show that the service accepts the key. */
export type AcceptedKey = {
  /** Notes such an answer. */
  note(): void;
  /**
   * Call it before an attempt (from 1); returns whether another attempt may cure its failure. A refused signature may
   * be due to the nonce alone, also where the service does not name it (service-nonce): a service that requires nonces
   * to rise refuses a request that another one has overtaken.
   * Unlike one that refuses the key, it accepts other requests meanwhile. So the first refusal is curable if the key
   * was ever accepted, each further one if it was accepted since. HTTP 403, more likely about the key's rights, is
   * curable only once.
   */
  begin(attempt: number): (failure: Failure) => boolean;
};

/** Creates the memory of one process. */
export function createAcceptedKey(): AcceptedKey {
  let accepted = 0;
  return {
    note() {
      accepted += 1;
    },
    begin(attempt) {
      const before = attempt === 1 ? 0 : accepted;
      return ({ isRetryable, code, isOfRights = false }) =>
        isRetryable ||
        (code === 'service-authentication' && accepted > before && (!isOfRights || attempt === 1));
    },
  };
}
