import { chainForms } from '../src/kernel/address-form/chain-forms.ts';
import { limits } from '../src/service/limits.ts';

const head = `# Limits

What the service answers is not trusted to be reasonable in size. Each bound has a refusal or a reject behind it: nothing
is cut off silently. Time limits are in [operations.md](operations.md#limits).

`;

/** The text of `docs/limits.md`. */
export function renderLimitsDoc(): string {
  const rows = Object.values(limits).map(({ max, unit, of, beyond }) => {
    const amount = `${max.toLocaleString('en-US')} ${unit}`.trim();
    return `| ${of} | ${amount} | ${beyond} |`;
  });
  const table = ['| of | at the most | more than that |', '| --- | --- | --- |', ...rows, ''];
  return `${head}${table.join('\n')}${addresses()}`;
}

const addresses = () => `
## Addresses

Each text that the service returns or lists as an address is checked before it may become available. A refused text is
kept as \`foreign\` with the reason in \`addresses.refused\`, is a row of \`rejects\` and the problem \`address_refused\`, is
never handed out, and stops generating for its chain until \`wallet-ledger pool refill <slip44> --resume\`.

1. On every chain: printable ASCII without blanks, quotes, backslashes and angle brackets, 3 to 300 characters, no
   formula (\`=\`, \`+\`, \`-\`, \`@\` at the beginning), no word for a missing value, no bare number.
2. On the chains in the table: alphabet, length and checksum, test networks included. A memo or tag behind \`:\`, \`?\`,
   \`#\`, \`|\`, \`,\` or \`;\` is accepted on chains that use them. An Ethereum address in one case carries no
   checksum; in both cases it must fit EIP-55.
3. A service may use its own format for the addresses of a known chain, as emulators do. Valid and invalid addresses
   cannot be distinguished then, and a refusal would stop a pool without reason. So an address in another format is
   accepted as long as no address of that chain ever had the known format, no address in the same answer is refused, and
   no other last letter would make it valid. As soon as one has the known format, all others are refused, also stored ones.
4. A list that was not yet shown to honour the chain parameter may show another chain's addresses: an address in another
   format is only marked (\`addresses.form\` is \`misfit\`), and checked again before it may become available.

A wrong letter cannot be detected in an address without a checksum, on a chain of the third kind, or in a format that is
not in the table: \`wallet-ledger doctor\` names those of your pools (\`address-form\`).

${chainTable()}
`;

/** The known chains by slip44 code. */
function chainTable(): string {
  const codes = new Map<string, number[]>();
  for (const [slip44, { chain }] of chainForms)
    codes.set(chain, [...(codes.get(chain) ?? []), slip44]);
  const rows = [...codes].map(([chain, slip44s]) => `| ${chain} | ${slip44s.join(', ')} |`);
  return ['| form | slip44 |', '| --- | --- |', ...rows].join('\n');
}
