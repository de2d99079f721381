import type { Check } from './check-types.ts';

/**
 * Confirmations are logged only when they fall, and the list of an order is a property of the list, not of the order:
 * they form no chain.
 */
const chained = `field not in ('confirm_num', 'is_listed', 'stream')`;

/** An order whose truth changed while a later request overtook an earlier one; nothing is guaranteed for it. */
const isExcused = `exists (select from oracle.transaction_states s join oracle.moments m on m.id = s.moment
                            where s.order_no = w.order_no and m.is_spanned)`;

/** The version that a change led from or to. A field may have been empty before its first version. */
const versionOf = (change: string, value: 'old_value' | 'new_value', after: string) => `
  coalesce((select min(v.version) from oracle.field_versions v
             where v.order_no = ${change}.order_no and v.field = ${change}.field and v.value = ${change}.${value}
               and v.version > ${after}),
           case when '${value}' = 'old_value' and ${change}.old_value is null then -1 end)`;

/** Compares transaction_changes with every version that an order ever had. */
export const historyChecks: readonly Check[] = [
  {
    id: 'history.monotonic',
    promise:
      'the changes of a field follow the versions that it had, in their order; none is older than one before',
    sql: `with recursive numbered as (
            select id, order_no, field, old_value, new_value,
                   row_number() over (partition by order_no, field order by id) as n
              from ledger.transaction_changes where ${chained}
          ),
          walked as (
            select f.n, f.order_no, f.field, f.old_value, f.new_value, ${versionOf('f', 'new_value', 'f.from_version')} as to_version
              from (select c.*, ${versionOf('c', 'old_value', '-1')} as from_version
                      from numbered c where c.n = 1) f
            union all
            select c.n, c.order_no, c.field, c.old_value, c.new_value, ${versionOf('c', 'new_value', 'w.to_version')}
              from walked w
              join numbered c on c.order_no = w.order_no and c.field = w.field and c.n = w.n + 1
             where w.to_version is not null
          )
          select order_no, field, n, old_value, new_value from walked w where to_version is null and not ${isExcused}`,
  },
  {
    id: 'history.unbroken',
    promise:
      'every change begins where the one before it ended, and the last one ends at the value of the row',
    sql: `select order_no, field, id, old_value, new_value, next_old, stored
            from (select c.*, to_jsonb(t) ->> c.field as stored, t.order_no is not null as is_known,
                         lead(c.old_value) over w as next_old, lead(c.id) over w is null as is_last
                    from ledger.transaction_changes c left join ledger.transactions t using (order_no)
                   where ${chained}
                  window w as (partition by c.order_no, c.field order by c.id)) c
           where case when is_last then is_known and stored is distinct from new_value
                      else next_old is distinct from new_value end`,
  },
  {
    id: 'history.doubled',
    promise: 'no change is logged twice in a row, and none that changes nothing',
    sql: `select order_no, field, id, old_value, new_value
            from (select c.*, lag(old_value) over w as old_before, lag(new_value) over w as new_before
                    from ledger.transaction_changes c where ${chained}
                  window w as (partition by order_no, field order by id)) c
           where old_value is not distinct from new_value
              or (old_value, new_value) = (old_before, new_before)`,
  },
  {
    id: 'history.confirmations',
    promise: 'confirmations fall in the ledger only where they fell at the service',
    sql: `select order_no, old_value, new_value from ledger.transaction_changes w
           where field = 'confirm_num' and not ${isExcused}
             and not exists (
               select from oracle.field_versions a
                 join oracle.field_versions b using (order_no, field)
                where a.order_no = w.order_no and a.field = 'confirm_num' and a.version < b.version
                  and a.value = w.old_value and b.value = w.new_value)`,
  },
  {
    id: 'history.times',
    promise:
      'nothing changed before it was first seen, or after changed_at (a minute is left for clocks)',
    sql: `select order_no, t.first_seen_at, t.changed_at, c.first_change, c.last_change
            from ledger.transactions t
            left join (select order_no, min(observed_at) as first_change, max(observed_at) as last_change
                         from ledger.transaction_changes where ${chained} group by order_no) c using (order_no)
           where t.changed_at < t.first_seen_at - interval '1 minute'
              or c.first_change < t.first_seen_at - interval '1 minute'
              or c.last_change > t.changed_at + interval '1 minute'
              or greatest(t.changed_at, t.observed_at) > clock_timestamp() + interval '1 minute'`,
  },
];
