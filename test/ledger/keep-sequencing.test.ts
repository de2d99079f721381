import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../src/kernel/log.ts';
import { keepListening } from '../../src/ledger/connection/keep-listening.ts';
import { eventsChannel, outboxChannel } from '../../src/ledger/feed/feed-channels.ts';
import { keepSequencing } from '../../src/ledger/feed/keep-sequencing.ts';
import { recordLog } from '../support/record-log.ts';
import { until } from '../support/until.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, connect, query } = await withLedger();

const tell = (key: string) => query(`select engine.emit('k', '${key}', '{}')`);
const head = async () =>
  (await query<{ head: number }>('select ledger.events_head()::int as head'))[0]?.head ?? 0;

test('daemons number events of any session once notified, and send a notification once they can be read', async () => {
  const heard: string[] = [];
  const listening = keepListening({
    ledger,
    channels: { [eventsChannel]: () => void heard.push(eventsChannel) },
    log: silentLog,
  });
  onTestFinished(() => listening.close());
  for (const own of [connect(), connect()]) {
    const sequencer = keepSequencing(own, silentLog);
    const waking = keepListening({
      ledger: own,
      channels: { [outboxChannel]: sequencer.wake },
      log: silentLog,
    });
    onTestFinished(async () => {
      await waking.close();
      await sequencer.close();
    });
  }
  for (let n = 1; n <= 20; n += 1) {
    const before = heard.length;
    await tell(String(n));
    await until(async () => (await head()) === n && heard.length > before);
  }
  expect(await query('select count(*)::int as events from ledger.events')).toEqual([
    { events: 20 },
  ]);
});

test('a sequencer whose database fails reports it once and recovers on its own', async () => {
  const { log, lines } = recordLog();
  const messages = () => lines.map(({ message }) => message);
  const own = connect();
  await query('alter table engine.outbox rename to hidden');
  const sequencer = keepSequencing(own, log);
  onTestFinished(() => sequencer.close());
  await until(async () => messages().length > 0);
  await query('alter table engine.hidden rename to outbox');
  sequencer.wake();
  await until(async () => messages().length > 1);
  expect(messages()).toEqual([
    'events of the change feed wait',
    'events of the change feed get their numbers again',
  ]);
});

test('events get their numbers while old events are deleted', async () => {
  await query('truncate ledger.events, engine.outbox');
  await query(
    `insert into ledger.events (seq, recorded_at, kind, key, data)
     select n, now() - interval '40 days', 'k', 'k', '{}' from generate_series(1, 25000) as n`,
  );
  // A new event is inserted with the first slice. When it gets its number, the remaining old events are counted.
  await query(`
    create table public.beside (old_events bigint);
    create function public.tell_once() returns trigger language plpgsql as $$
    begin
      if not exists (select from public.beside) then
        insert into public.beside values (null);
        perform engine.emit('news', 'news', '{}');
      end if;
      return null;
    end $$;
    create function public.count_beside() returns trigger language plpgsql as $$
    begin
      if exists (select from new_rows where kind = 'news') then
        update public.beside set old_events = (select count(*) from ledger.events where kind = 'k');
      end if;
      return null;
    end $$;
    create trigger told after delete on ledger.events for each statement execute function public.tell_once();
    create trigger counted after insert on ledger.events referencing new table as new_rows
      for each statement execute function public.count_beside()`);
  const sequencer = keepSequencing(connect(), silentLog);
  onTestFinished(() => sequencer.close());
  await until(async () => {
    const [row] = await query<{ events: number }>(
      'select count(*)::int as events from ledger.events',
    );
    return row?.events === 1;
  });
  expect(await query('select old_events::int from public.beside')).toEqual([
    { old_events: 15_000 },
  ]);
});

describe('10,000 events are not compared with each other', () => {
  // That would be 100 million comparisons.
  const within = (statement: string) =>
    query(`begin; set local statement_timeout = '3s'; ${statement}; commit`);

  beforeEach(() => query('truncate ledger.events, engine.outbox'));

  test('when they get their numbers', async () => {
    await query(`select engine.emit('k', n::text, '{}') from generate_series(1, 10000) as n`);
    // Events wait for older transactions of the whole server, those of other tests included.
    await until(async () => {
      await within('select engine.sequence_events(10000)');
      return (await head()) === 10_000;
    });
  });

  test('when they are old enough to be deleted', async () => {
    await query(
      `insert into ledger.events (seq, recorded_at, kind, key, data)
       select n, now() - interval '40 days', 'k', 'k', '{}' from generate_series(1, 10001) as n`,
    );
    await within('select engine.prune_events()');
    expect(await query('select seq::int from ledger.events')).toEqual([{ seq: 10_001 }]);
  });
});
