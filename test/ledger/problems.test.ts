import { beforeEach, describe, expect, it } from 'vitest';
import { withLedger } from '../support/with-ledger.ts';

const { query, clear } = await withLedger();

type Problem = { name: string; severity: string; since: Date | null; what: string; cure: string };

async function problems(): Promise<Problem[]> {
  return await query<Problem>('select name, severity, since, what, cure from ledger.problems');
}

async function names(): Promise<string[]> {
  return (await problems()).map(({ name }) => name);
}

async function problem(name: string): Promise<Problem> {
  const found = (await problems()).find((one) => one.name === name);
  if (!found) throw new Error(`${name} is not among the problems: ${await names()}`);
  return found;
}

/** Passes at intervals of `seconds`, the latest one `age` seconds ago. */
function runs(job: string, seconds: number, age = 0, outcome = 'done'): string {
  return `
    insert into ledger.sync_runs (job, started_at, finished_at, outcome, requests, rows_seen, rows_inserted, rows_updated, error)
    select '${job}', at - interval '1 second', at, '${outcome}', 1, 0, 0, 0, case '${outcome}' when 'failed' then 'HTTP 500' end
      from generate_series(now() - interval '${8 * seconds + age} seconds', now() - interval '${age} seconds', interval '${seconds} seconds') as at`;
}

/** A run that began `age` ago and failed. */
function failure(job: string, age: string): string {
  return `
    insert into ledger.sync_runs (job, started_at, finished_at, outcome, requests, rows_seen, rows_inserted, rows_updated, error)
    values ('${job}', now() - interval '${age}', now() - interval '${age}', 'failed', 1, 0, 0, 0, 'HTTP 500')`;
}

async function minutesSince(name: string): Promise<number> {
  const { since } = await problem(name);
  return (Date.now() - Number(since)) / 60_000;
}

/** Both lists complete and fresh, one chain with a full pool, all jobs at their usual pace. */
async function beWell(): Promise<void> {
  await query(`insert into ledger.final_states values ('success', true), ('failed', false)`);
  await query(`insert into ledger.pools (slip44, threshold, target) values (60, 3, 5)`);
  await query(`insert into ledger.addresses (slip44, address, status, generated_by, first_seen_at)
               select 60, 'a' || n, 'available', 1, now() - interval '1 day' from generate_series(1, 5) as n`);
  await query(`insert into ledger.streams (name, service_total, ledger_count, last_success_at) values
               ('deposit', 0, 0, now()), ('withdraw', 0, 0, now()), ('addresses:60', 5, 5, now())`);
  await query(`update ledger.streams set is_backed = true`);
  const paces = { transactions: 15, details: 10, balances: 60, coins: 3_600, addresses: 600 };
  for (const [job, seconds] of Object.entries(paces)) await query(runs(job, seconds));
}

/** Backdates every last sign of life. */
async function bePast(interval: string): Promise<void> {
  await query(
    `update ledger.streams set last_success_at = last_success_at - interval '${interval}'`,
  );
  await query(`update ledger.sync_runs
                  set started_at = started_at - interval '${interval}', finished_at = finished_at - interval '${interval}'`);
}

beforeEach(async () => {
  await clear();
  await query('delete from ledger.stream_proofs; delete from ledger.transaction_changes');
  await beWell();
});

describe('a healthy ledger', () => {
  it('has no problem', async () => {
    expect(await problems()).toEqual([]);
  });

  it('has no problem either while one pass fails and the next one succeeds', async () => {
    await query(`update ledger.streams set last_error = 'HTTP 500', last_error_at = now(),
                        last_success_at = now() - interval '20 seconds'`);
    await query(
      runs('balances', 60, 0, 'failed').replace(/generate_series\(.*\)/, 'unnest(array[now()])'),
    );
    expect(await names()).toEqual([]);
  });

  it('has no problem while the proof is missing for a moment, or a pool falls below its threshold and is refilled', async () => {
    await query(`update ledger.streams set service_total = 1 where name = 'deposit'`);
    await query(`update ledger.addresses set status = 'assigned', assigned_to = address, assigned_at = now()
                  where address in ('a1', 'a2', 'a3')`);
    expect(await names()).toEqual([]);
  });
});

describe('a daemon that has ended', () => {
  it('is one problem, and not one for each list', async () => {
    await bePast('1 hour');
    expect(await problems()).toMatchObject([
      { name: 'daemon_silent', severity: 'critical', what: expect.stringContaining('5 minutes') },
    ]);
    const [row] = await query<{ age: number }>(
      `select extract(epoch from now() - since)::float8 / 60 as age from ledger.problems`,
    );
    expect(row?.age).toBeCloseTo(60, 0);
  });

  it('is reported after five minutes, or after two of its intervals if they are longer', async () => {
    await bePast('4 minutes');
    expect(await names()).toEqual([]);
    await bePast('2 minutes');
    expect(await names()).toEqual(['daemon_silent']);
    await query(`delete from ledger.sync_runs where job = 'transactions'`);
    await query(runs('transactions', 600, 500));
    expect(await names()).not.toContain('daemon_silent');
  });

  it('is also reported if its only activity was a single pass hours ago', async () => {
    await query(`delete from ledger.sync_runs where job <> 'transactions'`);
    await query(`delete from ledger.sync_runs where id <> (select max(id) from ledger.sync_runs)`);
    await bePast('3 hours');
    expect(await names()).toContain('daemon_silent');
  });

  it('is not reported while it extends its lease during a long pass', async () => {
    await bePast('1 hour');
    await query(`update ledger.streams set is_backed = false, lease_owner = 'x', lease_until = now() + interval '30 seconds'
                  where name = 'deposit'`);
    expect(await names()).not.toContain('daemon_silent');
  });
});

describe('a list', () => {
  it('that is not read for five minutes while others are is critical, with the error', async () => {
    await query(`update ledger.streams set last_success_at = now() - interval '6 minutes',
                        last_error = E'HTTP 500\nselect secret' where name = 'deposit'`);
    expect(await problems()).toMatchObject([
      {
        name: 'stream_stale',
        severity: 'critical',
        what: 'deposit has not been read successfully for more than 5 minutes: HTTP 500',
      },
    ]);
  });

  it('that fails for more than two intervals is a warning, and at once if it never succeeded', async () => {
    await query(`update ledger.streams set last_error = 'HTTP 401', last_error_at = now(),
                        last_success_at = now() - interval '2 minutes' where name = 'deposit'`);
    expect(await problem('stream_failing')).toMatchObject({ severity: 'warning' });
    await query(`update ledger.streams set last_success_at = null where name = 'deposit'`);
    expect(await names()).toEqual(['stream_failing']);
  });

  it('that fails is a warning since its first failed run, and not since its last success', async () => {
    await query(`delete from ledger.sync_runs where job = 'addresses'`);
    await query(runs('addresses', 1_200, 1_500));
    const fail = (name: string, age: string) =>
      query(`update ledger.streams set last_error = 'HTTP 500', last_error_at = now(),
                    last_success_at = now() - interval '${age}' where name = '${name}'`);
    await fail('addresses:60', '25 minutes');
    await query(failure('addresses', '5 minutes'));
    expect(await names()).toEqual([]);
    await query(`update ledger.sync_runs set started_at = started_at - interval '16 minutes',
                        finished_at = finished_at - interval '16 minutes' where outcome = 'failed'`);
    expect(await names()).toEqual(['stream_failing']);
    expect(await minutesSince('stream_failing')).toBeCloseTo(21, 0);
  });

  it('has failed since a run after its own last success, however long another list of the job has failed', async () => {
    await query(failure('transactions', '30 minutes'));
    await query(failure('transactions', '90 seconds'));
    await query(failure('transactions', '15 seconds'));
    await query(`update ledger.streams set last_error = 'HTTP 500', last_error_at = now(),
                        last_success_at = now() - interval '2 minutes' where name = 'deposit'`);
    expect(await names()).toEqual(['stream_failing']);
    expect(await minutesSince('stream_failing')).toBeCloseTo(1.5, 1);
  });

  it('of addresses may go an hour without a reading', async () => {
    await query(
      `update ledger.streams set last_success_at = now() - interval '50 minutes' where name = 'addresses:60'`,
    );
    expect(await names()).toEqual([]);
    await query(
      `update ledger.streams set last_success_at = now() - interval '70 minutes' where name = 'addresses:60'`,
    );
    expect(await names()).toEqual(['addresses_stale']);
    await query('delete from ledger.pools');
    expect(await names()).toEqual([]);
  });

  it('that was never read is reported', async () => {
    await query(`delete from ledger.streams where name = 'withdraw'`);
    expect(await problems()).toMatchObject([
      { name: 'stream_unread', severity: 'warning', what: 'withdraw has not been read yet' },
    ]);
    await clear();
    expect(await names()).toEqual(['stream_unread', 'stream_unread']);
  });

  it('that is in its first reading is incomplete, and raises no alarm while the reading makes progress', async () => {
    await query(`delete from ledger.stream_proofs`);
    await query(
      `update ledger.streams set is_backed = false, service_total = 5000, ledger_count = 3000 where name = 'deposit'`,
    );
    await query(`delete from ledger.stream_proofs`);
    await query(`update ledger.sync_runs set rows_inserted = 100 where job = 'transactions'`);
    expect(await problems()).toMatchObject([
      {
        name: 'backfill_running',
        severity: 'warning',
        what: 'deposit is not complete yet: its first reading has not ended, 3,000 of 5,000 rows are stored',
      },
    ]);
    await query(`update ledger.sync_runs set rows_inserted = 0`);
    await query(`insert into ledger.sync_runs (id, job, started_at, finished_at, outcome, requests, rows_seen, rows_inserted, rows_updated)
                 overriding system value values (-1, 'transactions', now() - interval '1 day', now() - interval '1 day', 'done', 1, 0, 0, 0)`);
    expect(await problems()).toMatchObject([{ name: 'stream_incomplete', severity: 'critical' }]);
  });

  it('that is in its first reading is shown before any pass has ended', async () => {
    await clear();
    await query('delete from ledger.stream_proofs');
    await query(`insert into ledger.streams (name, ledger_count, lease_owner, lease_until)
                 values ('deposit', 100, 'x', now() + interval '20 seconds')`);
    expect(await problems()).toMatchObject([
      {
        name: 'backfill_running',
        since: null,
        what: 'deposit is not complete yet: its first reading has not ended, 100 rows are stored',
      },
      { name: 'stream_unread' },
    ]);
  });

  it('that is unproven is a warning after minutes and critical after half an hour, with the reason', async () => {
    await query(`update ledger.streams set service_total = 12 where name = 'deposit'`);
    const age = (interval: string) =>
      query(
        `update ledger.stream_proofs set observed_at = now() - interval '${interval}' where name = 'deposit'`,
      );
    await age('4 minutes');
    expect(await names()).toEqual([]);
    await age('6 minutes');
    expect(await problems()).toMatchObject([
      {
        name: 'stream_unproven',
        severity: 'warning',
        what: 'deposit is not proven complete: 12 of 12 rows are missing',
      },
    ]);
    await age('31 minutes');
    expect(await problems()).toMatchObject([{ name: 'stream_incomplete', severity: 'critical' }]);
  });

  it('whose total is wrong by a known number of rows is a warning, for any length of time', async () => {
    await query(
      `update ledger.streams set service_total = 2, accepted_difference = 2 where name = 'deposit'`,
    );
    await query(`update ledger.stream_proofs set observed_at = now() - interval '9 days'`);
    expect(await problems()).toMatchObject([{ name: 'total_differs', severity: 'warning' }]);
  });

  it('without a usable total is a warning, for any length of time: neither a pass nor a repair can prove it', async () => {
    await query(`update ledger.streams set service_total = null where name = 'deposit'`);
    await query(`update ledger.stream_proofs set observed_at = now() - interval '9 days'`);
    expect(await problems()).toMatchObject([
      {
        name: 'total_differs',
        severity: 'warning',
        what: 'deposit is not proven complete: the service gives no usable total',
      },
    ]);
  });

  it('of addresses that shows new ones late is a warning once it should have been read again', async () => {
    await query(
      `update ledger.streams set service_total = 3, accepted_difference = -2 where name = 'addresses:60'`,
    );
    // Read every 10 minutes: two readings may miss what the service shows late.
    for (const minutes of [0, 19]) {
      await query(
        `update ledger.stream_proofs set observed_at = now() - interval '${minutes} minutes'`,
      );
      expect(await problems()).toEqual([]);
    }
    await query(`update ledger.stream_proofs set observed_at = now() - interval '21 minutes'`);
    expect(await problems()).toMatchObject([
      {
        name: 'total_differs',
        what: "addresses:60 is not proven complete: 2 of the ledger's addresses are not on the list; available ones that it has shown before are withheld",
      },
    ]);
  });

  it('of addresses that is read every few seconds is reported after five minutes, like a list of transactions', async () => {
    await query(`delete from ledger.sync_runs where job = 'addresses'`);
    await query(runs('addresses', 5));
    await query(`update ledger.streams set service_total = 7 where name = 'addresses:60'`);
    await query(`update ledger.stream_proofs set observed_at = now() - interval '4 minutes'`);
    expect(await problems()).toEqual([]);
    await query(`update ledger.stream_proofs set observed_at = now() - interval '6 minutes'`);
    expect(await names()).toEqual(['stream_unproven']);
  });

  it('of addresses without a total is a warning at once, because no reading of it can prove it', async () => {
    await query(`update ledger.streams set service_total = null where name = 'addresses:60'`);
    expect(await problems()).toMatchObject([
      {
        name: 'total_differs',
        what: 'addresses:60 is not proven complete: the service gives no usable total',
      },
    ]);
  });

  it('that was not proven after its only pass is reported at once', async () => {
    await query(`update ledger.streams set service_total = 1 where name = 'deposit'`);
    await query(`delete from ledger.stream_proofs`);
    expect(await names()).toEqual(['stream_unproven']);
  });

  it('with rows of the other list is reported', async () => {
    const counts = `service_total = 5, ledger_count = case name when 'deposit' then 5 else 0 end`;
    await query(
      `update ledger.streams set conflicts = 1, ${counts} where name in ('deposit', 'withdraw')`,
    );
    expect(await problem('rows_in_two_lists')).toMatchObject({
      severity: 'warning',
      what: '1 row has been listed both as a deposit and as a withdrawal',
    });
    expect(await names()).not.toContain('type_filter_broken');
    await query(`update ledger.streams set conflicts = 5 where name in ('deposit', 'withdraw')`);
    expect(await problem('type_filter_broken')).toMatchObject({
      severity: 'critical',
      cure: expect.stringContaining('WALLET_PARAM_NAMES type='),
    });
    expect(await names()).not.toContain('rows_in_two_lists');
  });
});

describe('rows and sums', () => {
  it('that could not be decoded are counted', async () => {
    await query(`insert into ledger.rejects (source, reason, payload, fingerprint, first_seen_at, last_seen_at, resolved_at) values
                 ('transaction-list', 'a', '{}', 'a', now() - interval '2 days', now(), null), ('address-list', 'b', '{}', 'b', now(), now(), null),
                 ('coin-list', 'c', '{}', 'c', now(), now(), now())`);
    expect(await problem('rejects_open')).toMatchObject({
      severity: 'warning',
      what: '2 values could not be decoded',
    });
    const rejectOf = (field: string) =>
      query(`insert into ledger.rejects (source, field, reason, payload, fingerprint, first_seen_at, last_seen_at)
             values ('balance-list', '${field}', 'd', '{}', '${field}', now(), now())`);
    await rejectOf('balance');
    expect(await problem('rejects_open')).toMatchObject({ what: '3 values could not be decoded' });
    // The detail of an order repeats the unreadable value of its list row.
    await query(`insert into ledger.rejects (source, order_no, field, reason, payload, fingerprint, first_seen_at, last_seen_at)
                 select s, 'order-1', f, 'e', '{}', s || f, now(), now()
                   from unnest(array['transaction-list', 'transaction-detail']) s, unnest(array['amount', 'time']) f`);
    expect(await problem('rejects_open')).toMatchObject({ what: '5 values could not be decoded' });
    await query(`delete from ledger.rejects where order_no = 'order-1'`);
    await rejectOf('slip44');
    expect(await problem('rejects_open')).toMatchObject({
      what: expect.stringMatching(
        /^4 values .*; because .* lacks a usable key, those .* stay listed/,
      ),
    });
  });

  it('that do not add up are critical, per coin', async () => {
    for (const [symbol, difference, isExplained] of [
      ['BTC', '-0.50000000000000000000', false],
      ['ETH', '3', false],
      ['ETH', '0', true],
      ['USDC', '7', true],
    ] as const) {
      await query(`insert into ledger.reconciliation_runs (symbol, observed_at, expected, reported, difference, is_explained)
                   values ('${symbol}', now(), 1, 1, ${difference}, ${isExplained})`);
    }
    expect(await problems()).toMatchObject([
      {
        name: 'unexplained_difference',
        severity: 'critical',
        what: 'BTC: the balances hold 0.5 less than the transactions add up to',
      },
    ]);
  });

  it('that left a final state within the week are counted once per order, unless they returned to it', async () => {
    const row = (orderNo: string, state: string) =>
      query(`insert into ledger.transactions (order_no, stream, state, is_final, observation)
             values ('${orderNo}', 'deposit', '${state}', '${state}' <> 'pending', 1)`);
    const change = (orderNo: string, from: string, to: string, age: string) =>
      query(`insert into ledger.transaction_changes (order_no, observed_at, field, old_value, new_value)
             values ('${orderNo}', now() - interval '${age}', 'state', '${from}', '${to}')`);
    for (const orderNo of ['o1', 'o2', 'o3', 'back', 'turned']) await row(orderNo, 'success');
    for (const orderNo of ['o4', 'late', 'open', 'again']) await row(orderNo, 'pending');
    await change('o1', 'Success', 'failed', '1 day');
    await change('o1', 'failed', 'success', '1 hour');
    await change('o2', 'success', 'SUCCESS ', '1 hour');
    await change('o3', 'pending', 'success', '1 hour');
    await change('o4', 'success', 'pending', '8 days');
    // The details of a server that lags behind.
    await change('back', 'success', 'pending', '1 hour');
    await change('back', 'pending', 'success', '1 hour');
    await change('late', 'success', 'pending', '10 seconds');
    await change('open', 'success', 'pending', '2 minutes');
    await change('turned', 'failed', 'success', '1 hour');
    await change('again', 'success', 'pending', '1 hour');
    await change('again', 'pending', 'success', '59 minutes');
    await change('again', 'success', 'pending', '10 seconds');
    await query(`update ledger.streams set final_changes = 3 where name = 'deposit'`);
    expect(await problems()).toMatchObject([
      {
        name: 'final_state_undone',
        severity: 'warning',
        what: '2 transactions changed after reaching a final state',
      },
    ]);
  });

  it('without the details that the service refuses are counted after minutes of refusals', async () => {
    const refuse = (orderNo: string, refusals: number) =>
      query(`insert into engine.detail_checks (order_no, is_final, turn, refusals, refused_since)
             values ('${orderNo}', true, 3, ${refusals}, now() - interval '${refusals} minutes')`);
    await refuse('o1', 4);
    expect(await problems()).toEqual([]);
    await refuse('o2', 5);
    await refuse('o3', 9);
    expect(await problem('details_refused')).toMatchObject({
      severity: 'warning',
      what: 'the service gives no detail of 2 rows that it lists',
    });
    expect(await minutesSince('details_refused')).toBeCloseTo(9, 0);
    await query(`insert into ledger.transactions (order_no, stream, state, is_final, occurred_at, observation)
                 values ('o2', 'deposit', 'success', true, now(), 1), ('o3', 'deposit', 'success', true, now(), 1)`);
    const [, naming = ''] = /`(select[^`]+)`/.exec((await problem('details_refused')).cure) ?? [];
    const rows = (await query(naming)).map((row) => row['order_no']);
    expect(rows.toSorted()).toEqual(['o2', 'o3']);
    await query(`update ledger.transactions set is_listed = false where order_no = 'o3'`);
    expect(await query(naming)).toEqual([{ order_no: 'o2' }]);
  });

  it('without any detail for two minutes are counted although each was refused once, with the answer of the service', async () => {
    const refuse = (orderNo: string, seconds: number) =>
      query(`insert into engine.detail_checks (order_no, is_final, turn, refusals, refused_since, refused_at, refusal)
             values ('${orderNo}', true, 0, 1, now() - interval '${seconds} seconds', now(), 'HTTP 404')`);
    await query(`delete from ledger.sync_runs where job = 'details'`);
    await query(runs('details', 10, 0, 'incomplete'));
    await refuse('o1', 100);
    expect(await names()).not.toContain('details_refused');
    await refuse('o2', 130);
    expect(await problem('details_refused')).toMatchObject({
      severity: 'warning',
      what: 'the service gives no detail of 2 rows that it lists: HTTP 404',
    });
    // The detail of another row has arrived since: the two may only be late.
    await query(`update ledger.sync_runs set rows_seen = 1
                  where id = (select max(id) - 3 from ledger.sync_runs where job = 'details')`);
    expect(await names()).not.toContain('details_refused');
  });

  it('that vanished from a list are a problem that needs a person if there are ten of them within a day', async () => {
    await query(`insert into ledger.transactions (order_no, stream, is_final, observation, occurred_at)
                 select 'o' || n, 'deposit', true, 1, now() - n * interval '1 day' from generate_series(1, 1100) as n`);
    const vanish = (first: number, last: number, ago: string) =>
      query(`with gone as (
               update ledger.transactions set is_listed = false, changed_at = now() - interval '${ago}'
                where order_no in (select 'o' || n from generate_series(${first}, ${last}) as n) returning order_no)
             insert into ledger.transaction_changes (order_no, observed_at, field, old_value, new_value)
             select order_no, now() - interval '${ago}', 'is_listed', 'true', 'false' from gone`);
    await vanish(1, 9, '2 hours');
    await vanish(10, 40, '25 hours');
    expect(await names()).not.toContain('rows_vanished');
    // By details, which are requested as long as a row is open.
    await query(`update ledger.transactions set changed_at = now() where not is_listed`);
    expect(await names()).not.toContain('rows_vanished');
    await vanish(41, 41, '1 hour');
    expect(await problem('rows_vanished')).toMatchObject({
      severity: 'warning',
      what: 'deposit: 10 rows have vanished from the list of the service within a day',
    });
    expect(await minutesSince('rows_vanished')).toBeCloseTo(120, 0);
    await vanish(1, 1100, '1 minute');
    expect(await problem('rows_vanished')).toMatchObject({
      what: 'deposit: more than 999 rows have vanished from the list of the service within a day',
    });
    await query('update ledger.transactions set is_listed = true');
    expect(await names()).not.toContain('rows_vanished');
  });

  it('that vanished within a day need a person, however many newer rows vanished before', async () => {
    await query(`insert into ledger.transactions (order_no, stream, is_final, is_listed, observation, occurred_at, changed_at)
                 select 'newer' || n, 'deposit', true, false, 1, now() - n * interval '1 minute', now() - interval '2 days'
                   from generate_series(1, 1000) as n
                 union all
                 select 'undated' || n, 'deposit', true, false, 1, null, now() - interval '2 days'
                   from generate_series(1, 1000) as n
                 union all
                 select 'older' || n, 'deposit', true, false, 1, now() - interval '90 days', now() - interval '1 hour'
                   from generate_series(1, 10) as n`);
    await query(`insert into ledger.transaction_changes (order_no, observed_at, field, old_value, new_value)
                 select order_no, changed_at, 'is_listed', 'true', 'false' from ledger.transactions`);
    expect(await problem('rows_vanished')).toMatchObject({
      what: 'deposit: 10 rows have vanished from the list of the service within a day',
    });
    expect(await minutesSince('rows_vanished')).toBeCloseTo(60, 0);
  });

  it('without details that are no longer listed need no attention', async () => {
    await query(`insert into ledger.transactions (order_no, stream, type, state, is_final, is_listed, is_backfilled,
                                                  first_seen_at, changed_at, observed_at, observation)
                 values ('o1', 'deposit', 'deposit', 'pending', false, false, false, now(), now(), now(), 1)`);
    await query(`insert into engine.detail_checks (order_no, is_final, turn, refusals, refused_since)
                 values ('o1', false, 3, 9, now() - interval '1 day')`);
    expect(await names()).not.toContain('details_refused');
  });

  it('to addresses that were handed out to nobody are counted once the lists were read', async () => {
    await query(`insert into ledger.addresses (slip44, address, status, first_seen_at) values
                 (60, 'old', 'foreign', now() - interval '30 days'), (60, 'new', 'foreign', now() + interval '1 second')`);
    await query(`insert into ledger.coins (slip44, symbol, contract_address, observed_at, changed_at, observation) values
                 (60, 'ETH', '', now(), now(), 1), (60, 'USDT', 'x', now(), now(), 1), (195, 'USDT', 'y', now(), now(), 1)`);
    await query(`insert into ledger.final_states values ('success', true) on conflict do nothing`);
    const deposit = (orderNo: string, address: string, symbol = 'ETH') =>
      query(`insert into ledger.transactions (order_no, stream, symbol, state, to_address, occurred_at, is_final, observation)
             values ('${orderNo}', 'deposit', '${symbol}', 'success', '${address}', now(), true, 1)`);
    await deposit('o1', 'A1');
    await deposit('o2', 'OLD');
    await query(`update ledger.streams set service_total = ledger_count`);
    expect(await names()).toEqual([]);
    await deposit('o3', 'new');
    await deposit('o4', 'nowhere');
    // On a chain without a pool, whose list is not read.
    await deposit('o5', 'nowhere', 'USDT');
    await query(`update ledger.streams set service_total = ledger_count`);
    expect(await problems()).toMatchObject([
      {
        name: 'unexpected_deposits',
        severity: 'warning',
        what: '2 recent deposits went to addresses that this ledger did not generate, or set aside when the database moved',
      },
    ]);
    expect(
      await query(
        `select order_no, kind, is_suspicious from ledger.unexpected_deposits order by order_no`,
      ),
    ).toEqual([
      { order_no: 'o2', kind: 'foreign', is_suspicious: false },
      { order_no: 'o3', kind: 'foreign', is_suspicious: true },
      { order_no: 'o4', kind: 'unknown', is_suspicious: true },
      { order_no: 'o5', kind: 'unknown', is_suspicious: false },
    ]);
    // The ledger's own address with a deposit that does not count yet is not counted, but one that a move set aside
    // is.
    await query(`insert into ledger.addresses (slip44, address, status, first_seen_at, generated_by, set_aside_epoch) values
                 (60, 'own', 'foreign', now() + interval '1 second', 1, null),
                 (60, 'aside', 'used', now() + interval '1 second', 1, 1)`);
    await deposit('o6', 'own');
    await deposit('o7', 'aside');
    expect(
      await query(`select order_no from ledger.unexpected_deposits where is_suspicious order by 1`),
    ).toEqual([{ order_no: 'o3' }, { order_no: 'o4' }, { order_no: 'o7' }]);
    await query('delete from ledger.pools');
    expect(await names()).toEqual([]);
  });
});

describe('a pool', () => {
  const take = (count: number, age: string) =>
    query(`update ledger.addresses set status = 'assigned', assigned_to = address, assigned_at = now() - interval '${age}'
            where address in (select address from ledger.addresses where status = 'available' order by address limit ${count})`);

  it('that is empty is critical at once, with the instruction to fill it', async () => {
    await take(5, '1 second');
    expect(await problems()).toMatchObject([
      {
        name: 'pool_empty',
        severity: 'critical',
        what: 'the address pool of chain 60 is empty',
        cure: expect.stringContaining('wallet-ledger pool refill 60'),
      },
    ]);
    expect((await problem('pool_empty')).cure).not.toContain('adopt');
  });

  it('is empty since the last address was handed out, not since it fell below its threshold', async () => {
    await take(4, '30 minutes');
    await take(1, '4 minutes');
    expect(await minutesSince('pool_empty')).toBeCloseTo(4, 0);
  });

  it('that a move has emptied is empty since the move, whenever its last address was handed out', async () => {
    await take(1, '30 minutes');
    await query(`update ledger.addresses set status = 'foreign' where status = 'available'`);
    await query(`insert into engine.moves (epoch, what, noticed_at, healed_at, acknowledged_at)
                 values (2, 'a restore', now(), now() - interval '2 minutes', now())`);
    expect(await minutesSince('pool_empty')).toBeCloseTo(2, 0);
    await query('delete from engine.moves');
  });

  it('that stays below its threshold for longer than filling takes is a warning since it fell below', async () => {
    await take(3, '10 minutes');
    await take(1, '1 minute');
    const [row] = await query<{ name: string; age: number }>(
      `select name, extract(epoch from now() - since)::float8 / 60 as age from ledger.problems`,
    );
    expect(row).toMatchObject({ name: 'pool_below_threshold', age: expect.closeTo(10, 0) });
  });

  it('that could not be filled is a warning with the reason of the service', async () => {
    await query(
      `update ledger.pools set last_error = 'code 1003: limit reached', last_error_at = now()`,
    );
    expect(await names()).toEqual([]);
    await take(1, '1 second');
    expect(await problems()).toMatchObject([
      {
        name: 'pool_not_filled',
        severity: 'warning',
        what: 'the address pool of chain 60 could not be filled: code 1003: limit reached',
        cure: expect.stringContaining('retried on schedule'),
      },
    ]);
  });

  it('that a text which is no address has stopped promises no retry', async () => {
    await query(
      `update ledger.pools set last_error = 'not a valid address', last_error_at = now(), refused_at = now()`,
    );
    await take(1, '1 second');
    const { cure } = await problem('pool_not_filled');
    expect(cure).toContain('wallet-ledger pool refill 60 --resume');
    expect(cure).not.toContain('schedule');
  });
});

describe('a job', () => {
  it('that keeps failing is a warning, and failing lists have problems of their own', async () => {
    await query(`update ledger.sync_runs set started_at = started_at - interval '7 minutes',
                        finished_at = finished_at - interval '7 minutes' where job in ('balances', 'addresses')`);
    await query(runs('balances', 45, 0, 'failed'));
    await query(runs('addresses', 30, 0, 'failed'));
    expect(await problems()).toMatchObject([
      { name: 'job_failing', severity: 'warning', what: 'balances fails: HTTP 500' },
    ]);
  });

  it('that fails after a long pause is reported since its first failed run, once it could have run again', async () => {
    const last = (job: string, age: string) =>
      query(`update ledger.sync_runs set started_at = started_at - interval '${age}', finished_at = finished_at - interval '${age}'
              where job = '${job}'`);
    await query(`delete from ledger.sync_runs where job = 'coins' and id < (
                   select max(id) from ledger.sync_runs where job = 'coins')`);
    await last('coins', '20 minutes');
    await query(failure('coins', '4 minutes'));
    expect(await names()).toEqual([]);
    await last('coins', '13 minutes');
    expect(await problem('job_failing')).toMatchObject({ what: 'coins fails: HTTP 500' });
    expect(await minutesSince('job_failing')).toBeCloseTo(17, 0);
    await query(failure('coins', '1 second'));
    expect(await minutesSince('job_failing')).toBeCloseTo(17, 0);
  });

  it('that runs every hour and fails once is reported only after another hour', async () => {
    await query(`update ledger.sync_runs set started_at = started_at - interval '110 minutes',
                        finished_at = finished_at - interval '110 minutes' where job = 'coins'`);
    await query(failure('coins', '50 minutes'));
    expect(await names()).toEqual([]);
    await query(
      `update ledger.sync_runs set started_at = started_at - interval '11 minutes' where job = 'coins'`,
    );
    expect(await names()).toEqual(['job_failing']);
    expect(await minutesSince('job_failing')).toBeCloseTo(61, 0);
  });
});
