import { readdirSync } from 'node:fs';

/** The path of a migration, whose number is its place in the order. */
export function migrationNamed(name: string): string {
  return `migrations/${readdirSync('migrations').find((file) => file.endsWith(`_${name}.sql`))}`;
}
