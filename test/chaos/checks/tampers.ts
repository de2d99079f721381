import { plainSymbol, plainSymbols } from '../oracle/plain-coin.ts';
import type { Tamper } from './check-types.ts';

const still = `t.order_no not in (select order_no from ledger.transaction_changes) and t.is_final
  and t.order_no not in (select order_no from oracle.odd_rows)
  and t.order_no not in (select order_no from oracle.transaction_states where version > 0)`;
const aRow = `(select order_no from ledger.transactions t where ${still} and stream = 'withdraw'
  and symbol not in (${plainSymbols.map((symbol) => `'${symbol}'`).join(', ')})
  and position('.' in amount::text) > 0 order by order_no limit 1)`;
const aPlainRow = `(select min(order_no) from ledger.transactions t where ${still} and symbol = '${plainSymbol}'
  and lower(state) = 'success')`;
const lastOfTwo = `(select max(id) from ledger.transaction_changes
  where field not in ('confirm_num', 'is_listed', 'stream') group by order_no, field having count(*) > 1 limit 1)`;
const twiceMoved = `(select slip44, symbol, contract_address from ledger.balance_changes
  group by 1, 2, 3 having count(*) > 1 limit 1)`;
const own = `(select address from ledger.addresses where slip44 = 60 and status = 'available' order by address limit 1)`;

export const tampers: readonly Tamper[] = [
  {
    name: 'a lost order',
    sql: `delete from ledger.transactions where order_no = ${aRow}`,
    expected: ['transactions.complete', 'streams.proven', 'streams.checkpoint'],
  },
  {
    name: 'an invented order',
    sql: `insert into ledger.transactions (order_no, type, is_listed) values ('ghost', 'withdraw', false)`,
    expected: ['transactions.invented'],
  },
  {
    name: 'an amount with one zero more',
    sql: `update ledger.transactions set amount = (amount::text || '0')::numeric where order_no = ${aRow}`,
    expected: ['transactions.exact'],
  },
  {
    name: 'a time that is a millisecond off',
    sql: `update ledger.transactions set occurred_at = occurred_at + interval '1 ms' where order_no = ${aRow}`,
    expected: ['transactions.exact'],
  },
  {
    name: 'a wrong fee',
    sql: `update ledger.transactions set fee = fee + 1 where order_no = ${aRow}`,
    expected: ['transactions.details'],
  },
  {
    name: 'a final order without its detail',
    sql: `update ledger.transactions set detail_synced_at = null where order_no = ${aRow}`,
    expected: ['transactions.final'],
  },
  {
    name: 'a final order that is not taken as final',
    sql: `update ledger.transactions set is_final = false where order_no = ${aRow}`,
    expected: ['transactions.final'],
  },
  {
    name: 'a listed order that counts as gone',
    sql: `update ledger.transactions set is_listed = false where order_no = ${aRow}`,
    expected: ['transactions.listed', 'streams.proven'],
  },
  {
    name: 'a lost reject',
    sql: 'delete from ledger.rejects where order_no = (select min(order_no) from oracle.odd_rows)',
    expected: ['odd.rejected'],
  },
  {
    name: 'a state that went back to what it was',
    sql: `insert into ledger.transaction_changes (order_no, observed_at, field, old_value, new_value)
      select order_no, observed_at, field, v.a, v.b
        from (select * from ledger.transaction_changes where id = ${lastOfTwo}) c
       cross join lateral (values (1, new_value, old_value), (2, old_value, new_value)) as v (n, a, b) order by v.n`,
    expected: ['history.monotonic'],
  },
  {
    name: 'a change that never was',
    sql: `insert into ledger.transaction_changes (order_no, observed_at, field, old_value, new_value)
      select order_no, changed_at, 'state', v.a, v.b from ledger.transactions t
       cross join lateral (values (1, state, 'ghost'), (2, 'ghost', state)) as v (n, a, b)
       where order_no = ${aRow} order by v.n`,
    expected: ['history.monotonic'],
  },
  {
    name: 'a lost change',
    sql: `delete from ledger.transaction_changes where id = ${lastOfTwo}`,
    expected: ['history.unbroken'],
  },
  {
    name: 'a change written twice',
    sql: `insert into ledger.transaction_changes (order_no, observed_at, field, old_value, new_value)
      select order_no, observed_at, field, old_value, new_value from ledger.transaction_changes where id = ${lastOfTwo}`,
    expected: ['history.monotonic', 'history.unbroken', 'history.doubled'],
  },
  {
    name: 'confirmations that never fell',
    sql: `insert into ledger.transaction_changes (order_no, observed_at, field, old_value, new_value)
      values (${aRow}, now(), 'confirm_num', '900', '899')`,
    expected: ['history.confirmations'],
  },
  {
    name: 'an order seen after it changed',
    sql: `update ledger.transactions set first_seen_at = now() + interval '1 day' where order_no = ${aRow}`,
    expected: ['history.times'],
  },
  {
    name: 'a proof that is none',
    sql: `update ledger.streams set doubt = 'tampered' where name = 'deposit'`,
    expected: ['streams.proven'],
  },
  {
    name: 'a count that is off',
    sql: `update ledger.streams set ledger_count = ledger_count + 1 where name = 'addresses:60'`,
    expected: ['streams.counts'],
  },
  {
    name: 'a checkpoint ahead of its rows',
    sql: `update ledger.streams set checkpoint = jsonb_set(checkpoint, '{totalAtLastMatch}', '9999') where name = 'deposit'`,
    expected: ['streams.checkpoint'],
  },
  {
    name: 'a walk ahead of its rows',
    sql: `update ledger.streams set checkpoint = jsonb_set(checkpoint, '{walk}',
      '{"nextPage": 99, "pageSize": 100, "startTotal": 10, "lastTotal": 10, "unstorable": 0}') where name = 'deposit'`,
    expected: ['streams.checkpoint'],
  },
  {
    name: 'a run that ended before it began',
    sql: `update ledger.sync_runs set finished_at = started_at - interval '1 s'`,
    expected: ['runs.times'],
  },
  {
    name: 'a balance with a wrong name',
    sql: `update ledger.balances set name = 'ghost' where slip44 = 0 and contract_address = ''`,
    expected: ['balances.exact'],
  },
  {
    name: 'a lost balance',
    sql: `delete from ledger.balances where slip44 = 0 and contract_address = ''`,
    expected: ['balances.exact'],
  },
  {
    name: 'a balance that never was',
    sql: `update ledger.balance_changes set balance = -1 where id = (select min(id) from ledger.balance_changes
      where (slip44, symbol, contract_address) = ${twiceMoved})`,
    expected: ['balances.monotonic'],
  },
  {
    name: 'a balance change written twice',
    sql: `insert into ledger.balance_changes (slip44, symbol, contract_address, balance, frozen, observed_at)
      select slip44, symbol, contract_address, balance, frozen, observed_at from ledger.balance_changes
       order by id desc limit 1`,
    expected: ['balances.doubled'],
  },
  {
    name: 'a lost balance change',
    sql: `delete from ledger.balance_changes where id = (select max(id) from ledger.balance_changes
      where (slip44, symbol, contract_address) = ${twiceMoved})`,
    expected: ['balances.logged'],
  },
  {
    name: 'a sum taken away',
    sql: `update ledger.transactions set amount = amount - 0.25 where order_no = ${aPlainRow}`,
    expected: ['transactions.exact', 'balances.explained'],
  },
  {
    name: 'an alarm that stays',
    sql: `insert into ledger.reconciliation_runs (symbol, observed_at, expected, reported, difference, is_explained,
      unexplained_since) values ('${plainSymbol}', now(), 1, 2, 1, false, now())`,
    expected: ['balances.explained'],
  },
  {
    name: 'a coin in a wrong state',
    sql: 'update ledger.coins set deposit_state = deposit_state + 1 where slip44 = 0',
    expected: ['coins.exact'],
  },
  {
    name: 'a lost address',
    sql: `delete from ledger.addresses where address = ${own}`,
    expected: ['addresses.lost', 'requests.received'],
  },
  {
    name: 'an invented address',
    sql: `insert into ledger.addresses (slip44, address, status, first_seen_at) values (60, 'ghost', 'foreign', now())`,
    expected: ['streams.counts', 'addresses.invented'],
  },
  {
    name: 'a foreign address that is available',
    sql: `update ledger.addresses set status = 'available', form = 'strange' where slip44 = 60 and status = 'foreign' and refused is null`,
    expected: ['addresses.foreign'],
  },
  {
    name: 'a used address that nobody paid to',
    sql: `update ledger.addresses set status = 'used' where address = ${own}`,
    expected: ['addresses.used'],
  },
  {
    name: 'a paid address that is not used',
    sql: `update ledger.addresses set status = 'foreign'
      where status = 'used' and generated_by is null and slip44 = 60`,
    expected: ['addresses.used'],
  },
  {
    name: 'an address assigned since never',
    sql: `update ledger.addresses set status = 'assigned', assigned_to = 'bob' where address = ${own}`,
    expected: ['addresses.assigned'],
  },
  {
    name: 'an address handed out twice',
    sql: `update ledger.addresses set assigned_to = 'bob' where assigned_to = 'alice'`,
    expected: ['addresses.handed-out-once'],
  },
  {
    name: 'a request beside an unanswered one',
    sql: `update oracle.address_posts set finished_seq = null where serial = (select min(serial) from oracle.address_posts where slip44 = 60)`,
    expected: ['requests.one-open'],
  },
  {
    name: 'a request right after a lost answer',
    sql: `update oracle.address_posts set is_answer_lost = true where serial = (select min(serial) from oracle.address_posts where slip44 = 60)`,
    expected: ['requests.lost-answer'],
  },
  { name: 'a crossed ceiling', changed: { poolMaxPerDay: 249 }, expected: ['requests.ceiling'] },
  {
    name: 'a request that was not written down',
    sql: 'delete from ledger.address_requests where slip44 = 195',
    expected: ['requests.written-down'],
  },
  {
    name: 'a request with a wrong count',
    sql: 'update ledger.address_requests set received = received - 1 where slip44 = 195',
    expected: ['requests.received'],
  },
  {
    name: 'a wrong signature',
    sql: 'update oracle.calls set bad_signatures = 1',
    expected: ['calls.signed'],
  },
  {
    name: 'a nonce used twice',
    sql: 'update oracle.calls set reused_nonces = 1',
    expected: ['calls.nonces'],
  },
  { name: 'a crossed budget', changed: { maxRps: 1 }, expected: ['calls.budget'] },
  {
    name: 'a reject without its payload',
    sql: `update ledger.rejects set payload = ' ' where source = 'transaction-list'`,
    expected: ['rejects.payload'],
  },
];
