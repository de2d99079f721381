import type pg from 'pg';

/** Place that a setting of a session comes from, and the action that resets it there. */
export type SettingOrigin = { place: string; reset: string };

/** Names the role or database of an `ALTER … SET` as its `ALTER … RESET` does; null if the value has another source. */
const question = `
select source,
       case source when 'database user' then format('role %I in database %I', session_user, current_database())
                   when 'user' then format('role %I', session_user)
                   when 'database' then format('database %I', current_database())
                   when 'global' then 'role all' end as altered
  from pg_settings where name = $1`;

/** Returns the origin of the value that a setting has in a new session. */
export async function findSettingOrigin(
  client: Pick<pg.ClientBase, 'query'>,
  name: string,
): Promise<SettingOrigin> {
  const { rows } = await client.query<{ source: string; altered: string | null }>(question, [name]);
  const { source, altered = null } = rows[0] ?? {};
  if (altered !== null) return { place: altered, reset: `run \`alter ${altered} reset ${name}\`` };
  if (source === 'client') return { place: 'DATABASE_URL', reset: `remove ${name} from it` };
  return {
    place: 'the configuration of PostgreSQL',
    reset: `remove it there, or run \`alter system reset ${name}\`, and reload it with \`select pg_reload_conf()\``,
  };
}
