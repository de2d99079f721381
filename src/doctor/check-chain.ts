import type { ChainFilter } from '../kernel/chain-filter.ts';
import { toError } from '../kernel/errors.ts';
import { isListRefusal, seeChainFilter } from '../service/see-chain-filter.ts';
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
const pageSizeMax = 20;

/**
 * Checks that the address list honours its chain parameter, by the evidence that the pools take as well. If it is
 * honoured, also checks the form of the addresses. Without a configured pool, reads and reports nothing.
 */
export async function checkChain(tools: ChainTools): Promise<Finding[]> {
  const { chains, chain } = tools;
  if (chains.length === 0) return [];
  const byChain = new Map<number, string[]>();
  const filters = new Set<ChainFilter>();
  const refusals: string[] = [];
  for (const slip44 of chains) {
    const seen = await seeOrRefusal(tools, slip44);
    if ('refusal' in seen) {
      refusals.push(seen.refusal);
      continue;
    }
    byChain.set(slip44, seen.own);
    filters.add(seen.filter);
  }
  if (byChain.size === 0) {
    const seen = `with ${chain}=${chains[0]} the service refuses to list addresses: ${refusals[0]}`;
    return [
      badFinding(
        name,
        seen,
        `if this concerns the parameter, ${cure}; else ask the operator of the service`,
      ),
    ];
  }
  if (filters.has('broken')) {
    const seen = `${chain} is ignored: the service lists the same addresses for a chain that does not exist, or for a chain that cannot have them`;
    return [{ ...badFinding(name, seen, cure), error: 'settings' }];
  }
  if (filters.has('works')) {
    return [
      okFinding(name, `${chain} is honoured: other chains have other addresses, or none`),
      ...checkAddressForms(byChain),
    ];
  }
  if (filters.has('shared')) {
    const shared = `${chain} is read, and all chains list the same addresses: pools take what clear answers bring, and the addresses of a lost answer stay foreign`;
    return [okFinding(name, shared), ...checkAddressForms(byChain)];
  }
  return [
    warningFinding(
      name,
      `nothing shows yet that ${chain} is honoured: there are too few addresses, or chains with different forms of addresses list the same ones`,
      'run the command again when one chain has an address that the others do not have',
    ),
  ];
}

/** Returns the service's words if it refuses to list the chain. */
async function seeOrRefusal({ client, chains, signal }: ChainTools, slip44: number) {
  const isListed = () => Promise.resolve(false);
  try {
    return await seeChainFilter({ client, chains, pageSizeMax, isListed, signal }, slip44);
  } catch (error) {
    signal.throwIfAborted();
    if (isListRefusal(error)) return { refusal: toError(error).message };
    throw error;
  }
}
