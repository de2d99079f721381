import { chainForms } from '../kernel/address-form/chain-forms.ts';
import { judgeAddresses } from '../kernel/address-form/judge-addresses.ts';
import { badFinding, type Finding, okFinding, warningFinding } from './finding.ts';

const name = 'address-form';

/**
 * Reports for which chains a mistyped address can be detected. A checksum is required only for chains whose listed
 * addresses have the known form. `byChain`: addresses that the service lists.
 */
export function checkAddressForms(byChain: ReadonlyMap<number, readonly string[]>): Finding[] {
  const known: number[] = [];
  const findings: Finding[] = [];
  for (const [slip44, addresses] of byChain) {
    const finding = findOdd(slip44, addresses);
    if (finding) findings.push(finding);
    else if (addresses.length > 0) known.push(slip44);
  }
  if (known.length === 0) return findings;
  return [
    okFinding(name, `the addresses of ${known.join(', ')} have their chain's form`),
    ...findings,
  ];
}

/** Returns null if all addresses have the form of their chain, or there are none. */
function findOdd(slip44: number, addresses: readonly string[]): Finding | null {
  const judged = judgeAddresses(slip44, addresses, false);
  const refused = judged.filter((each) => each.refused !== null);
  const [first] = refused;
  if (first) {
    return badFinding(
      name,
      `${refused.length} of ${judged.length} listed addresses of chain ${slip44} would be refused: ${first.refused}`,
      'ask the operator of the service; the ledger never hands out such a text, and stops generating for the chain when it sees one',
    );
  }
  const [strange] = judged.filter(({ form }) => form === 'strange' || form === 'other');
  if (!strange) return null;
  const chain = chainForms.get(slip44)?.chain;
  const seen =
    chain === undefined
      ? `the form of addresses of chain ${slip44} is not known to this program`
      : `none of the ${judged.length} listed addresses of chain ${slip44} has the form of ${chain}`;
  return warningFinding(
    name,
    `${seen}: a wrong letter in an address cannot be detected`,
    `before customers pay to an address, compare it with the service's own pages (docs/limits.md, Addresses)`,
  );
}
