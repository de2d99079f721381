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
## References

A reference of \`ledger.take_address\` has at most 2,000 bytes; a longer one is an error (\`invalid_parameter_value\`), and a
line of a list of handed out addresses that is not accepted. An index holds the references, and a longer text may not
fit into it.

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

All spellings of an address have one key (\`ledger.address_key\`), so it has one row per chain and goes to one customer:
hexadecimal digits in either case, with \`0x\` or without, with leading zeros or without; bech32 and base32 in either case;
Tron in base58 or as \`41…\`; TON as text of every kind (\`EQ…\`, \`UQ…\`, \`kQ…\`, \`0Q…\`, in both alphabets) or as workchain and
hash; Bitcoin Cash as cashaddr, with its prefix or without, or in base58; Polkadot under every network prefix or as public
key; an X-address of XRP and the classic address with its tag; \`M…\` and \`3…\` of Litecoin; \`f410…\` and \`0x…\`, \`f0…\` and
\`0xff…\` of Filecoin; \`tex1…\` and \`t1…\` of Zcash; a tag behind any separator, with its name or without.

- The checksums of Polkadot and of \`f410…\` are not verified for this, because PostgreSQL has no BLAKE2b.
- Two hexadecimal texts that differ in leading zeros only are one address on every chain, also where they are names (NEAR).
- A muxed address of Stellar (\`M…\`) and its account with a memo are two addresses, as are a unified address of Zcash and
  its parts.

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
