import { ignoreRejection } from '../../kernel/ignore-rejection.ts';

/**
 * Writes batches one after another. While one batch is being written, a second one waits, and the caller reads and
 * prepares the next one.
 */
export function createBatchWriter() {
  let writing: Promise<unknown> = Promise.resolve();
  let writingBefore = writing;
  return {
    async add(write: () => Promise<unknown>): Promise<void> {
      await writingBefore;
      writingBefore = writing;
      writing = ignoreRejection(writing.then(write));
    },
    end: () => writing,
  };
}
