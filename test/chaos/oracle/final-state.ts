/** The states that the program takes as final unless told otherwise (contract, WALLET_FINAL_STATES). */
const finalStates = new Set(
  `success succeeded successful complete completed done finished confirmed fail failed failure reject rejected
   cancel cancelled canceled refunded expired reverted dropped`.split(/\s+/),
);

export function isFinalState(state: string): boolean {
  return finalStates.has(state.trim().toLowerCase());
}
