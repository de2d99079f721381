import type { Settings } from '../config/settings.ts';
import type { Clock } from '../kernel/clock.ts';
import type { BalanceRecord } from '../kernel/wallet-records.ts';
import type { StateSeen } from '../ledger/transactions/read-states-seen.ts';
import type { WalletClient } from '../service/wallet-client.ts';
import { checkAmounts } from './check-amounts.ts';
import { checkChain } from './check-chain.ts';
import { checkListOrder } from './check-list-order.ts';
import { checkPageSize } from './check-page-size.ts';
import { checkParams } from './check-params.ts';
import { checkStates, statesOf } from './check-states.ts';
import { checkTotal } from './check-total.ts';
import { type Finding, guardedFindings, skippedFinding } from './finding.ts';
import { type ListSample, probePageSizes, readSample } from './read-samples.ts';

export type ListTools = {
  client: WalletClient;
  settings: Pick<Settings, 'lists' | 'pools' | 'states'> & {
    service: NonNullable<Settings['service']>;
  };
  clock: Clock;
  signal: AbortSignal;
};

/** Checks the behaviour of the service's lists and the content of their rows. `stored`: states of the ledger's rows. */
export async function checkLists(
  tools: ListTools,
  stored: readonly StateSeen[],
): Promise<Finding[]> {
  const { client, settings, signal } = tools;
  const samples = [
    await readSample(client, 'deposit', signal),
    await readSample(client, 'withdraw', signal),
  ] as const;
  const [small, large] = bySize(samples);
  const { probes, largest } = await probePageSizes(client, large.type, signal);
  const { pageSize, order } = settings.lists;
  const served = Math.min(pageSize, largest?.pageSize ?? pageSize);
  const rows = samples.flatMap(({ wide }) => wide.records).concat(largest?.records ?? []);
  const params = checkParams(samples, settings.service.paramNames);
  const isPageWrong = params.some(
    ({ name, verdict }) => name === 'param-page' && verdict === 'bad',
  );
  return [
    ...params,
    ...(await guardedFindings('param-chain', () =>
      checkChain({
        client,
        signal,
        chains: settings.pools.chains.map(({ slip44 }) => slip44),
        chain: settings.service.paramNames.chain,
      }),
    )),
    checkListOrder(large.type, largest ?? large.wide, order),
    checkListOrder(small.type, small.wide, order),
    checkPageSize(probes, pageSize),
    ...(await guardedFindings('total-size', async () => [
      isPageWrong
        ? skippedFinding('total-size', 'param-page is BAD, so only page 1 can be read')
        : await checkTotal(client, { type: small.type, pageSize: served }, signal),
    ])),
    ...(await guardedFindings('amounts', async () => [
      checkAmounts(await balancesOf(tools), rows),
    ])),
    ...checkStates([...stored, ...statesOf(rows, tools.clock())], settings.states.final),
  ];
}

async function balancesOf({ client, signal }: ListTools): Promise<BalanceRecord[]> {
  return (await client.listBalances(signal)).records;
}

function bySize([a, b]: readonly [ListSample, ListSample]): readonly [ListSample, ListSample] {
  return (a.wide.totalSize ?? a.wide.listed) <= (b.wide.totalSize ?? b.wide.listed)
    ? [a, b]
    : [b, a];
}
