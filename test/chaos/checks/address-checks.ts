import type { Check } from './check-types.ts';

/** Compares the addresses in the ledger with those that exist. */
export const addressChecks: readonly Check[] = [
  {
    id: 'addresses.lost',
    promise:
      'every generated address is in the ledger; of chains whose list is read, every address',
    sql: `select o.slip44, o.address, o.request_serial from oracle.addresses o
           where (o.request_serial is not null
               or exists (select from ledger.streams s where s.name = 'addresses:' || o.slip44))
             and not exists (select from ledger.addresses a where a.slip44 = o.slip44 and a.address = o.address)`,
  },
  {
    id: 'addresses.invented',
    promise: 'the ledger holds no address that the service does not have',
    sql: `select a.slip44, a.address from ledger.addresses a
           where not exists (select from oracle.addresses o where o.slip44 = a.slip44 and o.address = a.address)`,
  },
  {
    id: 'addresses.foreign',
    promise:
      'an address that this program did not have generated is never available, assigned or counted as its own',
    sql: `select a.slip44, a.address, a.status, a.generated_by
            from ledger.addresses a
            join oracle.addresses o using (slip44, address)
           where o.request_serial is null
             and (a.status in ('available', 'assigned') or a.generated_by is not null)`,
  },
  {
    id: 'addresses.used',
    promise: 'an address is used when a deposit in a success state went to it, and only then',
    sql: `with paid as (
            select distinct ledger.address_key(t.to_address) as key
              from oracle.transactions t join ledger.final_states f on f.state = lower(btrim(t.state)) and f.is_success
             where t.stream = 'deposit' and t.to_address is not null
          )
          select a.slip44, a.address, a.status, p.key is not null as is_paid
            from ledger.addresses a left join paid p on p.key = a.address_key
           where (p.key is not null) <> (a.status = 'used')`,
  },
  {
    id: 'addresses.assigned',
    promise:
      'an assigned address says to whom and since when; an available one is assigned to nobody',
    sql: `select slip44, address, status, assigned_to, assigned_at from ledger.addresses
           where (status = 'assigned' and assigned_at is null)
              or (status in ('available', 'foreign') and (assigned_to is not null or assigned_at is not null))`,
  },
  {
    id: 'addresses.handed-out-once',
    promise:
      'no address was handed out for two references, no reference got two; the ledger knows of each',
    sql: `select slip44, address, reference, 'twice' as problem
            from (select t.*, count(*) over (partition by slip44, address) as times
                    from (select distinct on (slip44, address, reference, case when reference is null then ctid end) *
                            from oracle.taken) t) t
           where times > 1
          union all
          select slip44, min(address), reference, 'two addresses' from oracle.taken
           where reference is not null group by slip44, reference having count(distinct address) > 1
          union all
          select t.slip44, t.address, t.reference, 'unknown to the ledger' from oracle.taken t
           where not exists (select from ledger.addresses a
                              where a.slip44 = t.slip44 and a.address = t.address
                                and a.status in ('assigned', 'used') and a.assigned_at is not null
                                and (t.reference is null or a.assigned_to = t.reference))`,
  },
];
