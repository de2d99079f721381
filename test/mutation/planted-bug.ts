/** One place of the product and a plausible mistake there. */
export type Edit = {
  /**
   * Contains the place, and determines its file: a top-level declaration, a function, view or column of SQL
   * (`engine.hand_out`: its last definition), or a migration (`home.sql`).
   */
  in: string;
  /** Code that occurs once in there, with any layout. */
  find: string;
  put: string;
  /** Exported names that `put` needs and that the file does not import. */
  uses?: string[];
};

/** A known-bad variant of a decision of the product, and the test that fails with it. */
export type PlantedBug = Edit & {
  id: string;
  /** Broken guarantee: a name in docs/guarantees.md, or a promise of another page. */
  promise: string;
  /** Description of the mistake, in one line. */
  wrong: string;
  /** Further places that the same mistake touches. */
  also?: Edit[];
  /** The title as written in the test file, including placeholders of tables of cases; it must be unique. */
  caughtBy: string;
};

export function editsOf(bug: PlantedBug): Edit[] {
  const { also = [], ...edit } = bug;
  return [edit, ...also];
}
