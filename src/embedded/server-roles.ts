/** Name of the database and of the program's role, which owns the database, may create roles and is no superuser. */
export const databaseName = 'wallet_ledger';
export const userName = 'wallet_ledger';

/** Superuser that initdb creates. It cannot log in and is used in PostgreSQL's single-user mode only. */
export const setupUserName = 'wallet_ledger_setup';

/** Separator of commands in PostgreSQL's single-user mode with the option -j. */
const end = ';\n\n';

/** Returns the commands for a data directory fresh from initdb, to be run in its database `postgres`. */
export function setUpRoles(password: string): string {
  return [
    `create role ${userName} login createrole password ${literal(password)}`,
    // `create database` cannot run inside a transaction, so it is a separate command.
    `create database ${databaseName} owner ${userName}`,
    `alter role ${setupUserName} nologin password null`,
    '',
  ].join(end);
}

/**
 * Returns the command that migrates data of an earlier version, to be run in the program's database. There the
 * program's role was initdb's superuser. That role is renamed to `setupUserName`, and a new role gets its name and all
 * that it owned. One command is one transaction.
 */
export function handOverRoles(password: string): string {
  return `
create role wallet_ledger_interim superuser;
-- The role of the session itself cannot be renamed.
set session authorization wallet_ledger_interim;
alter role ${userName} rename to ${setupUserName};
alter role ${setupUserName} nologin password null;
create role ${userName} login createrole password ${literal(password)};
alter database ${databaseName} owner to ${userName};
${handOverObjects}
set session authorization ${setupUserName};
drop role wallet_ledger_interim${end}`;
}

/** OID 10 is initdb's superuser; it keeps the objects in PostgreSQL's own schemas. */
const handOverObjects = `do $$
declare
  command text;
begin
  for command in
    with schemas as (
      select oid, nspname, nspowner from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema'
    )
    select format('alter schema %I owner to ${userName}', nspname) from schemas where nspowner = 10
    union all
    -- A sequence of a column goes with its table.
    select format('alter table %s owner to ${userName}', c.oid::regclass)
      from pg_class c join schemas s on s.oid = c.relnamespace
     where c.relowner = 10 and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
       and (c.relkind <> 'S' or not exists (
             select from pg_depend d
              where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype in ('a', 'i')))
    union all
    select format('alter routine %s owner to ${userName}', p.oid::regprocedure)
      from pg_proc p join schemas s on s.oid = p.pronamespace where p.proowner = 10
    union all
    -- Row types go with their tables, array types with their elements.
    select format('alter type %s owner to ${userName}', t.oid::regtype)
      from pg_type t join schemas s on s.oid = t.typnamespace left join pg_class c on c.oid = t.typrelid
     where t.typowner = 10 and t.typtype in ('b', 'c', 'd', 'e', 'r') and t.typcategory <> 'A'
       and (c.oid is null or c.relkind = 'c')
    union all
    select format('alter publication %I owner to ${userName}', pubname) from pg_publication where pubowner = 10
    union all
    select format('grant %I to ${userName} with admin option, inherit false, set false', rolname)
      from pg_roles where rolname !~ '^pg_' and rolname <> '${userName}' and not rolsuper
    union all
    select format('alter default privileges for role ${userName} in schema %s grant %s on tables to %s',
                  d.defaclnamespace::regnamespace, a.privilege_type, a.grantee::regrole)
      from pg_default_acl d, aclexplode(d.defaclacl) a
     where d.defaclrole = 10 and d.defaclobjtype = 'r' and d.defaclnamespace <> 0 and a.grantee not in (0, 10)
  loop
    execute command;
  end loop;
end
$$;`;

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
