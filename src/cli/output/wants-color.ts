import { styleText } from 'node:util';

/** Follows Node's rules for colour: support by the terminal, NO_COLOR, FORCE_COLOR. */
export function wantsColor(stream: NodeJS.WriteStream): boolean {
  return styleText('bold', ' ', { stream }) !== ' ';
}
