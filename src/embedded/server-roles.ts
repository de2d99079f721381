/** The database, and the role of the program: it owns the database, makes roles for readers, and is no superuser. */
export const databaseName = 'wallet_ledger';
export const userName = 'wallet_ledger';

/** The superuser that initdb makes. It cannot log in: only PostgreSQL's single-user mode is its. */
export const setupUserName = 'wallet_ledger_setup';

/** Separates the commands of PostgreSQL's single-user mode under its option -j. */
const end = ';\n\n';

/** For a data directory fresh from initdb, in its database `postgres`. */
export function setUpRoles(password: string): string {
  return [
    `create role ${userName} login createrole password ${literal(password)}`,
    // Not possible inside a transaction: a command of its own.
    `create database ${databaseName} owner ${userName}`,
    `alter role ${setupUserName} nologin password null`,
    '',
  ].join(end);
}

/**
 * For a data directory of an earlier version, in which the program's role was initdb's superuser, in the program's
 * database. That role takes the name of `setupUserName`, and a new one its name and all that it owned. One command,
 * and so one transaction.
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

/** Number 10 is initdb's superuser; what lies in schemas of PostgreSQL's own stays with it. */
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
