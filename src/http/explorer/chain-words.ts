import { html } from 'hono/html';
import type { NamedChain } from '../../ledger/reports/explorer/read-chains.ts';
import { cut, foreign, type Html } from '../page/page-frame.ts';

/** Shows a chain as `Ethereum (60)`, or only its number if it has no name. */
export function chainWords(chains: readonly NamedChain[], slip44: number): Html {
  const name = nameOf(chains, slip44);
  return name === null ? html`${slip44}` : html`${foreign(name)} (${slip44})`;
}

/** The same as text. */
export function chainText(chains: readonly NamedChain[], slip44: number): string {
  const name = nameOf(chains, slip44);
  return name === null ? String(slip44) : `${cut(name)} (${slip44})`;
}

function nameOf(chains: readonly NamedChain[], slip44: number): string | null {
  return chains.find((chain) => chain.slip44 === slip44)?.name ?? null;
}
