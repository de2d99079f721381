import type { Check } from './check-types.ts';

/** The requests to generate addresses. */
export const requestChecks: readonly Check[] = [
  {
    id: 'requests.one-open',
    promise: 'a chain is never asked for addresses while an earlier request of it is unanswered',
    sql: `select a.slip44, a.serial as earlier, b.serial as later
            from oracle.address_posts a
            join oracle.address_posts b on b.slip44 = a.slip44 and b.received_seq > a.received_seq
           where a.finished_seq is null or b.received_seq < a.finished_seq`,
  },
  {
    id: 'requests.lost-answer',
    promise:
      'after a lost answer nothing more is asked for before the address list has been read where new addresses appear',
    sql: `select a.slip44, a.serial as lost, b.serial as later
            from oracle.address_posts a
           cross join lateral (select * from oracle.address_posts b
                                where b.slip44 = a.slip44 and b.received_seq > a.received_seq
                                order by b.received_seq limit 1) b
           where a.is_answer_lost
             and not exists (select from oracle.address_list_reads r
                              where r.slip44 = a.slip44 and r.shows_newest
                                and r.seq > a.received_seq and r.seq < b.received_seq)`,
  },
  {
    id: 'requests.ceiling',
    promise: 'no chain gets more addresses in 24 h than POOL_MAX_PER_DAY',
    sql: `select slip44, serial, in_24h
            from (select slip44, serial,
                         sum(generated) over (partition by slip44 order by received_at_ms
                                              range between 86400000 preceding and current row) as in_24h
                    from oracle.address_posts) p
           where in_24h > (select pool_max_per_day from oracle.settings)`,
  },
  {
    id: 'requests.written-down',
    promise: 'every request that reached the service is in the ledger',
    sql: `select slip44, num, count(*) as posts
            from oracle.address_posts p group by slip44, num
          having count(*) > (select count(*) from ledger.address_requests r
                              where r.slip44 = p.slip44 and r.num = p.num)`,
  },
  {
    id: 'requests.received',
    promise:
      'a closed request has received as many addresses as carry its number, and no more than it asked for',
    sql: `select r.id, r.slip44, r.state, r.num, r.received, a.owned
            from ledger.address_requests r
           cross join lateral (select count(*) as owned from ledger.addresses a where a.generated_by = r.id) a
           where (r.state = 'done' and r.received is not null and r.received <> a.owned)
              or a.owned > r.num
              or (r.state = 'failed' and a.owned > 0)`,
  },
];
