import { judgeFilter, unusedChain } from '../kernel/chain-filter.ts';
import { LedgerError } from '../kernel/errors.ts';
import type { WalletClient } from '../service/wallet-client.ts';
import { checkAddressForms } from './check-address-forms.ts';
import { badFinding, type Finding, okFinding, warningFinding } from './finding.ts';

type ChainTools = {
  client: WalletClient;
  /** slip44 codes of the configured pools. */
  chains: readonly number[];
  /** Name of the chain parameter. */
  chain: string;
  signal: AbortSignal;
};

const name = 'param-chain';
const cure = "set WALLET_PARAM_NAMES chain= to the service's name for the chain parameter";
const sampleSize = 20;
const refusals = new Set<string>(['service-refused', 'service-unsettled']);

/**
 * Checks that the address list honours its chain parameter: a list that ignores it shows the same addresses for a chain
 * that does not exist. If it is honoured, also checks the form of the addresses. Without a configured pool, reads and
 * reports nothing.
 */
export async function checkChain(tools: ChainTools): Promise<Finding[]> {
  const { chains, chain, signal } = tools;
  if (chains.length === 0) return [];
  const byChain = new Map<number, string[]>();
  for (const slip44 of chains) {
    const own = await listOrRefusal(tools, slip44, signal);
    if (own !== null) byChain.set(slip44, own);
  }
  const listed = [...byChain.values()];
  if (listed.length === 0) {
    return [
      badFinding(name, `with ${chain}=${chains[0]} the service refuses to list addresses`, cure),
    ];
  }
  const unused = await listOrRefusal(tools, unusedChain, signal);
  const verdicts = listed.map((own, nth) =>
    judgeFilter({
      own,
      unused,
      others: listed.filter((_, other) => other !== nth),
      isOwn: (addresses) => addresses.some((address) => own.includes(address)),
    }),
  );
  if (verdicts.includes('broken')) {
    return [
      badFinding(
        name,
        `with ${chain}=${unusedChain}, a chain that does not exist, the service lists the same addresses`,
        cure,
      ),
    ];
  }
  if (verdicts.includes('works')) {
    return [
      okFinding(
        name,
        `${chain} is honoured: a chain that does not exist has other addresses, or none`,
      ),
      ...checkAddressForms(byChain),
    ];
  }
  return [
    warningFinding(
      name,
      'too few addresses for this check',
      'run the command again when there are some',
    ),
  ];
}

/** Returns the first listed addresses; null if the service refuses to list the chain. */
async function listOrRefusal(
  { client }: ChainTools,
  slip44: number,
  signal: AbortSignal,
): Promise<string[] | null> {
  try {
    const query = { slip44, pageNo: 1, pageSize: sampleSize, failuresMax: 1 };
    const page = await client.listAddresses(query, signal);
    return page.records.map(({ address }) => address);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof LedgerError && refusals.has(error.code)) return null;
    throw error;
  }
}
