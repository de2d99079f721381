import type { Check } from './check-types.ts';

/** The book-keeping of streams and runs. */
export const streamChecks: readonly Check[] = [
  {
    id: 'streams.proven',
    promise: 'both transaction lists are proven complete, with the count that the service has',
    sql: `select n.name, s.is_complete, s.ledger_count, s.service_total, n.truth
            from (select name, (select count(*) from oracle.transactions o where o.stream = name) as truth
                    from (values ('deposit'), ('withdraw')) as v (name)) n
            left join ledger.streams s using (name)
           where n.truth > 0 and s.is_complete is not true
              or s.ledger_count is distinct from s.service_total
              or s.service_total <> n.truth`,
  },
  {
    id: 'streams.counts',
    promise: 'ledger_count is the number of listed rows in the ledger',
    sql: `select s.name, s.ledger_count, c.rows
            from ledger.streams s
           cross join lateral (
             select case when s.name like 'addresses:%'
                      then (select count(*) from ledger.addresses a
                             where s.name = 'addresses:' || a.slip44)
                      else (select count(*) from ledger.transactions t where t.stream = s.name and t.is_listed)
                    end as rows) c
           where s.ledger_count <> c.rows`,
  },
  {
    id: 'streams.checkpoint',
    promise: 'no checkpoint stands behind rows that are not stored',
    sql: `select s.name, s.checkpoint, c.rows
            from ledger.streams s
           cross join lateral (select count(*) as rows from ledger.transactions t where t.stream = s.name) c
           where s.name in ('deposit', 'withdraw')
             and ((s.checkpoint ->> 'totalAtLastMatch')::bigint > c.rows + coalesce(s.accepted_difference, 0)
               or ((s.checkpoint #>> '{walk,nextPage}')::bigint - 1) * (s.checkpoint #>> '{walk,pageSize}')::bigint
                  > c.rows + (s.checkpoint #>> '{walk,unstorable}')::bigint
                    + greatest(0, (s.checkpoint #>> '{walk,lastTotal}')::bigint
                                - (s.checkpoint #>> '{walk,startTotal}')::bigint))`,
  },
  {
    id: 'runs.times',
    promise: 'every run ends after it began, and none in the future',
    sql: `select id, job, started_at, finished_at from ledger.sync_runs
           where finished_at < started_at or finished_at > clock_timestamp() + interval '1 minute'`,
  },
];
