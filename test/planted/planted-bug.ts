/** One place of the product's sources and what a tired engineer might have written there. */
export type Edit = {
  file: string;
  /** Exact text of the source; occurs once in the file. */
  find: string;
  put: string;
};

/** A known-bad variant of a decision of the product, and the test that tells it. */
export type PlantedBug = Edit & {
  id: string;
  /** Whose loss it would be: a name of docs/guarantees.md, or a promise of another page. */
  promise: string;
  /** What is wrong with it, in one line. */
  wrong: string;
  /** Further places that the same mistake touches. */
  also?: Edit[];
  /** `name`: the title as the test file writes it, placeholders of tables of cases included. */
  caughtBy: { file: string; name: string };
};

export function editsOf(bug: PlantedBug): Edit[] {
  const { file, find, put, also = [] } = bug;
  return [{ file, find, put }, ...also];
}
