import { ignoreRejection } from '../../kernel/ignore-rejection.ts';

/** One batch is written, one waits for the database, and the next one is read and made ready. */
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
