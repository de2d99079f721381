import { chainForms } from '../src/kernel/address-form/chain-forms.ts';
import { limits } from '../src/service/limits.ts';

const head = `# Limits

What the service answers is not trusted to be reasonable in size. Each bound has a refusal or a reject behind it: nothing
is cut off in silence. What waits, and for how long, stands in [operations.md](operations.md#limits).

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

Whatever the service answers or lists as an address is judged before it may become available. What is refused is kept
as \`foreign\` with the reason in \`addresses.refused\`, is a row of \`rejects\` and the problem \`address_refused\`, is
never handed out, and stops generating for its chain until \`wallet-ledger pool refill <slip44> --resume\`.

1. On every chain: printable ASCII without blanks, quotes, backslashes and angle brackets, 3 to 300 characters, no
   formula (\`=\`, \`+\`, \`-\`, \`@\` at the beginning), no word for a missing value, no bare number.
2. On the chains in the table: alphabet, length and checksum, test networks included. A memo or tag behind \`:\`, \`?\`,
   \`#\`, \`|\`, \`,\` or \`;\` is let through where the chain has such. An Ethereum address in one case carries no
   checksum; in both cases it must fit EIP-55.
3. A service may write a known chain's addresses in a way of its own, as emulators do. Nothing then tells a good one
   from a bad one, and a refusal would stop a pool for nothing. So an address that does not fit is let through as long as
   no address of that chain has ever fitted, no neighbour in the same answer is refused, and no other last letter would
   make it fit. As soon as one fits, all that do not are refused, the stored ones too.
4. A list that was not yet shown to heed the chain may be another chain's: what does not fit is only marked there
   (\`addresses.form\` is \`misfit\`), and judged before it may become available.

A wrong letter in an address without a checksum cannot be seen, nor one on a chain of the third kind or of a form that is
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
