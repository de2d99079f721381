/** The default states of the program for moving money and for ending without a movement. */
const successStates = words(
  'success succeeded successful complete completed done finished confirmed',
);
const failedStates = words(
  `fail failed failure reject rejected cancel cancelled canceled refunded expired reverted dropped`,
);

export function isFinalState(state: string): boolean {
  return isSuccessState(state) || failedStates.has(normal(state));
}

export function isSuccessState(state: string): boolean {
  return successStates.has(normal(state));
}

function words(text: string): Set<string> {
  return new Set(text.split(' '));
}

function normal(state: string): string {
  return state.trim().toLowerCase();
}
