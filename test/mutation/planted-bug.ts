/** One place of the product and what a tired engineer might have written there. */
export type Edit = {
  /**
   * Holds the place, and finds its file: a top-level declaration, a function, view or column of SQL
   * (`engine.hand_out`: where it was last defined), or a migration (`home.sql`).
   */
  in: string;
  /** Code that occurs once in there, however it is laid out. */
  find: string;
  put: string;
  /** Exported names that `put` needs and that the file does not import. */
  uses?: string[];
};

/** A known-bad variant of a decision of the product, and the test that fails with it. */
export type PlantedBug = Edit & {
  id: string;
  /** Whose loss it would be: a name of docs/guarantees.md, or a promise of another page. */
  promise: string;
  /** Description of the mistake, in one line. */
  wrong: string;
  /** Further places that the same mistake touches. */
  also?: Edit[];
  /** The title as the test file writes it, placeholders of tables of cases included: it is unique. */
  caughtBy: string;
};

export function editsOf(bug: PlantedBug): Edit[] {
  const { also = [], ...edit } = bug;
  return [edit, ...also];
}
