/** Commands that concern one wallet, or can be limited to one. */
const ofOneWallet =
  'backfill|close|doctor|export|migrate --wallet-key|pool|rejects|show|status|sync|verify';
const command = new RegExp(`\`wallet-ledger (?:${ofOneWallet})\\b[^\`]*(?=\`)`, 'g');

/**
 * Adds `--wallet NAME` to the commands that a text names in backticks, so that they can be typed as they are if there
 * are several wallets. Returns the text as it is if there is only one.
 */
export function nameWallet(text: string, wallet: string, wallets: readonly unknown[]): string {
  if (wallets.length < 2 || wallet === '') return text;
  return text.replaceAll(command, (typed) =>
    typed.includes(' --wallet ') ? typed : `${typed} --wallet ${wallet}`,
  );
}
