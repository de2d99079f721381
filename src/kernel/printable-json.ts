/** Characters that move a terminal's cursor or change the direction of its text, and that JSON leaves as they are. */
const terminalControls = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Returns JSON text with the same values in which the characters that JSON leaves raw are escaped as well. */
export function printableJson(json: string): string {
  return json.replace(terminalControls, escaped);
}

/** Returns the escape of a character, as JSON and readable texts show it. */
function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
