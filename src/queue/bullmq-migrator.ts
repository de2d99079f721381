import { createRequire } from 'node:module';
import type * as BullMq from 'bullmq';

const require = createRequire(import.meta.url);
const migrations: Pick<
  typeof BullMq,
  'LATEST_SCHEMA_VERSION'
> = require('bullmq/dist/cjs/postgres/migrations');
const migrator: Pick<
  typeof BullMq,
  | 'assertSchemaCompatibility'
  | 'runMigrations'
  | 'SchemaMigrationRequiredError'
  | 'SchemaVersionMismatchError'
> = require('bullmq/dist/cjs/postgres/migrator.js');

/**
 * BullMQ 6.7's migrator without the rest of BullMQ, because loading all of it takes 15 MiB and a third of a command's
 * start. A backfill migrates the queue's schema and never opens the queue. These are the objects that `bullmq` exports.
 */
export const { LATEST_SCHEMA_VERSION } = migrations;
export const {
  assertSchemaCompatibility,
  runMigrations,
  SchemaMigrationRequiredError,
  SchemaVersionMismatchError,
} = migrator;
