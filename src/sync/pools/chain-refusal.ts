const chainWords = String.raw`\b(?:chain|slip44|coin|network)`;
const missingWords = String.raw`\b(?:required|missing|empty|blank|null|not (?:be )?(?:given|specified|provided|set))\b`;
/** A refusal that says that the chain did not arrive: "chain is required", "missing parameter: chainId". */
const chainMissing = new RegExp(
  `${chainWords}.{0,60}${missingWords}|${missingWords}.{0,40}${chainWords}`,
  'i',
);

/**
 * Puts what to do before the words of a refusal if the service seems to expect the chain parameter under another name.
 * Otherwise returns them unchanged. `chainParam`: the name that the program sends.
 */
export function withChainCure(message: string, chainParam: string): string {
  if (!chainMissing.test(message)) return message;
  return `the service does not know the chain parameter as ${chainParam}: run \`wallet-ledger doctor\` and set WALLET_PARAM_NAMES chain= to its name; it answered ${message}`;
}
