import { expect, onTestFinished, test } from 'vitest';
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

test('daemons number what any session commits as soon as it is notified, and notify once it can be read', async () => {
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

test('a sequencer whose database fails says so once, and goes on by itself', async () => {
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
