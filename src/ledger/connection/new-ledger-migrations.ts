import type { MigrationMeta } from 'drizzle-orm/migrator';

/** Recreates all views of the schema `own`. */
const makesOwnViews = isCall('make_own_views');
/** Brings the rights of all relations and functions up to date. */
const settlesRights = isCall('settle_rights');
const dropsOwnView = /^\s*DROP VIEW own\./m;

/**
 * Returns the migrations for an empty database, where nothing reads the ledger between two of them: in two thirds of
 * the time. They make the views of the schema `own` once at the end, and before each migration that drops one by its
 * name. They leave the rights to `migrateLedger`, and send the statements of each migration as one. They need
 * `check_function_bodies = off`, as functions are made before the views that they read.
 */
export function forNewLedger(migrations: readonly MigrationMeta[]): MigrationMeta[] {
  let isNeeded = true;
  return migrations
    .toReversed()
    .map((migration) => {
      const kept = migration.sql.toReversed().filter((statement) => {
        if (dropsOwnView.test(statement)) isNeeded = true;
        if (settlesRights.test(statement)) return false;
        if (!makesOwnViews.test(statement)) return true;
        const isKept = isNeeded;
        isNeeded = false;
        return isKept;
      });
      return { ...migration, sql: [kept.toReversed().join('\n;\n')] };
    })
    .toReversed();
}

/** Matches a statement that only calls the function, with comments before it. */
function isCall(name: string): RegExp {
  return new RegExp(`^(?:\\s|--.*\\n)*SELECT engine\\.${name}\\(\\);?\\s*$`);
}
