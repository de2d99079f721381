import { type FeedConsumer, isFailing } from '../../ledger/feed/consumer-report.ts';
import type { StreamStatus, WalletCounts } from '../../ledger/reports/ledger-status.ts';
import { listProblems } from '../../status/list-problems.ts';
import { secondsBetween } from '../../status/status-words.ts';
import { drawnNumber } from '../page/drawn-number.ts';
import { balanceGauges } from './balance-gauges.ts';
import { cappedSeries } from './capped-series.ts';
import type { StatusGauge } from './status-gauge.ts';

/** All gauges of `/metrics` that are derived from the status. */
export const statusGauges: StatusGauge[] = [
  {
    name: 'wallet_ledger_problem',
    help: '1 for each kind of problem that the status page shows; absent when there is none. The label wallet is empty if it concerns no single wallet',
    labelNames: ['name', 'severity', 'wallet'],
    samples: (status) =>
      listProblems(status).map(({ name, severity, wallet = '' }) => ({
        labels: { name, severity, wallet },
        value: 1,
      })),
  },
  {
    name: 'wallet_ledger_stream_lag_seconds',
    help: 'Seconds since the stream was last read without an error',
    labelNames: ['stream', 'wallet'],
    samples: perStream((stream) => stream.lagSeconds),
  },
  {
    name: 'wallet_ledger_stream_last_success_timestamp_seconds',
    help: 'Unix time at which the stream was last read without an error',
    labelNames: ['stream', 'wallet'],
    samples: (status) =>
      perStream(({ lagSeconds }) =>
        lagSeconds === null ? null : Date.parse(status.readAt) / 1_000 - lagSeconds,
      )(status),
  },
  {
    name: 'wallet_ledger_stream_complete',
    help: '1 if the stream is proven complete, else 0',
    labelNames: ['stream', 'wallet'],
    samples: perStream((stream) => Number(stream.isComplete)),
  },
  {
    name: 'wallet_ledger_stream_verified_age_seconds',
    help: 'Age of the oldest verification among the days of the list; absent while a day was never verified',
    labelNames: ['stream', 'wallet'],
    samples: ({ streams, readAt }) =>
      streams.flatMap(({ wallet, name, verifiedThrough }) =>
        verifiedThrough === null
          ? []
          : [
              {
                labels: { stream: name, wallet },
                value: Math.max(0, secondsBetween(verifiedThrough, readAt)),
              },
            ],
      ),
  },
  {
    name: 'wallet_ledger_stream_service_rows',
    help: 'Items in the stream according to the service (totalSize)',
    labelNames: ['stream', 'wallet'],
    samples: perStream((stream) => stream.serviceTotal),
  },
  {
    name: 'wallet_ledger_stream_ledger_rows',
    help: 'Listed items of the stream in the ledger',
    labelNames: ['stream', 'wallet'],
    samples: perStream((stream) => stream.ledgerCount),
  },
  {
    name: 'wallet_ledger_final_changes',
    help: 'How often a transaction of the stream left a state of WALLET_FINAL_STATES',
    labelNames: ['stream', 'wallet'],
    samples: perStream((stream) => stream.finalChanges),
  },
  {
    name: 'wallet_ledger_transactions',
    help: 'Transactions in the ledger',
    labelNames: ['wallet'],
    samples: perWallet(({ transactions }) => transactions.total),
  },
  {
    name: 'wallet_ledger_incomplete_transactions',
    help: 'Transactions whose detail is to be fetched, for the first time or again',
    labelNames: ['wallet'],
    samples: perWallet(({ transactions }) => transactions.incomplete),
  },
  {
    name: 'wallet_ledger_refused_details',
    help: 'Transactions whose detail the service has refused for days',
    labelNames: ['wallet'],
    samples: perWallet(({ transactions }) => transactions.detailsRefused),
  },
  {
    name: 'wallet_ledger_rejects_open',
    help: 'Values that could not be decoded, still open; one that both the list and the detail of a transaction show counts once',
    labelNames: ['wallet'],
    samples: perWallet(({ rejects }) => rejects),
  },
  {
    name: 'wallet_ledger_pool_available',
    help: 'Addresses of the chain that can be handed out',
    labelNames: ['slip44', 'wallet'],
    samples: ({ pools }) =>
      pools.map((pool) => ({
        labels: { slip44: String(pool.slip44), wallet: pool.wallet },
        value: pool.available,
      })),
  },
  {
    name: 'wallet_ledger_pool_threshold',
    help: 'Number of available addresses below which the pool is filled',
    labelNames: ['slip44', 'wallet'],
    samples: ({ pools }) =>
      pools.map(({ wallet, slip44, threshold }) => ({
        labels: { slip44: String(slip44), wallet },
        value: threshold,
      })),
  },
  {
    name: 'wallet_ledger_pool_days_left',
    help: 'Days that the available addresses last at the pace of the last 7 days; absent when none was handed out',
    labelNames: ['slip44', 'wallet'],
    samples: ({ pools }) =>
      pools.flatMap(({ wallet, slip44, daysLeft }) =>
        daysLeft === null ? [] : [{ labels: { slip44: String(slip44), wallet }, value: daysLeft }],
      ),
  },
  {
    name: 'wallet_ledger_unexpected_deposits',
    help: 'Deposits of the last 7 days (at most the latest 2,000) to addresses that this ledger neither generated nor handed out',
    labelNames: ['kind', 'wallet'],
    samples: ({ wallets }) =>
      wallets.flatMap(({ name, counts }) =>
        Object.entries(counts?.unexpectedDeposits ?? {}).map(([kind, value]) => ({
          labels: { kind, wallet: name },
          value,
        })),
      ),
  },
  ...balanceGauges,
  {
    name: 'wallet_ledger_unexplained_difference',
    help: 'Balance minus the sum of the transactions, in units of the coin; absent when the difference is explained',
    labelNames: ['symbol', 'wallet'],
    samples: ({ wallets, unexplainedDifferences }) =>
      wallets.flatMap((wallet) =>
        cappedSeries(
          unexplainedDifferences
            .filter((difference) => difference.wallet === wallet.name)
            .map(({ symbol, amount }) => ({ name: symbol, value: drawnNumber(amount) })),
        ).map(({ name, value }) => ({ labels: { symbol: name, wallet: wallet.name }, value })),
      ),
  },
  {
    name: 'wallet_ledger_feed_lag_events',
    help: 'Events that a consumer or webhook of the change feed has not received yet; none for a webhook that is no longer set',
    labelNames: ['consumer', 'kind'],
    samples: perConsumer((consumer) => consumer.lagEvents),
  },
  {
    name: 'wallet_ledger_feed_lag_seconds',
    help: 'Age of the first event that a consumer or webhook has not received; 0 when there is none; no sample when it was deleted',
    labelNames: ['consumer', 'kind'],
    samples: perConsumer((consumer) => consumer.lagSeconds),
  },
  {
    name: 'wallet_ledger_feed_failing',
    help: '1 while events do not reach a consumer or webhook: it fails, is stopped, is behind by more than a day, or events were lost',
    labelNames: ['consumer', 'kind'],
    samples: perConsumer((consumer) => Number(isFailing(consumer))),
  },
  {
    name: 'wallet_ledger_queue_jobs',
    help: 'Job runs in the queue: due, running, and failed within the last hour',
    labelNames: ['state'],
    samples: ({ queue }) =>
      (['waiting', 'active', 'failed'] as const).flatMap((state) =>
        queue ? [{ labels: { state }, value: queue[state] }] : [],
      ),
  },
];

/** At most 101 series of each kind, because a role may have a hundred consumers. */
function perConsumer(value: (consumer: FeedConsumer) => number | null): StatusGauge['samples'] {
  return ({ feed }) =>
    (['consumer', 'webhook'] as const).flatMap((kind) =>
      cappedSeries(
        feed
          .filter((consumer) => consumer.kind === kind && consumer.state !== 'unset')
          .flatMap((consumer) => {
            const known = value(consumer);
            return known === null ? [] : [{ name: consumer.name, value: known }];
          }),
      ).map((series) => ({ labels: { consumer: series.name, kind }, value: series.value })),
    );
}

function perWallet(value: (counts: WalletCounts) => number): StatusGauge['samples'] {
  return ({ wallets }) =>
    wallets.flatMap(({ name, counts }) =>
      counts ? [{ labels: { wallet: name }, value: value(counts) }] : [],
    );
}

function perStream(value: (stream: StreamStatus) => number | null): StatusGauge['samples'] {
  return ({ streams }) =>
    streams.flatMap((stream) => {
      const known = value(stream);
      return known === null
        ? []
        : [{ labels: { stream: stream.name, wallet: stream.wallet }, value: known }];
    });
}
