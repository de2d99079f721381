import type { MigrationMeta } from 'drizzle-orm/migrator';

/** Makes all views of the schema `own` anew, and takes half of the time of a migration. */
const makesOwnViews = /^\s*SELECT engine\.make_own_views\(\);?\s*$/;
const dropsOwnView = /^\s*DROP VIEW own\./m;

/**
 * Returns the migrations for an empty database, where nothing reads the views of the schema `own` between two of them.
 * They make these views once at the end, and before each migration that drops one by its name. They need
 * `check_function_bodies = off`, as functions are made before the views that they read.
 */
export function forNewLedger(migrations: readonly MigrationMeta[]): MigrationMeta[] {
  let isNeeded = true;
  return migrations
    .toReversed()
    .map((migration) => {
      const sql = migration.sql.toReversed().filter((statement) => {
        if (dropsOwnView.test(statement)) isNeeded = true;
        if (!makesOwnViews.test(statement)) return true;
        const isKept = isNeeded;
        isNeeded = false;
        return isKept;
      });
      return { ...migration, sql: sql.toReversed() };
    })
    .toReversed();
}
