import { z } from 'zod';

/** Parser of one setting's text. Its issue message describes the expected value and never quotes the given one. */
export type SettingParser<T> = z.ZodType<T, string>;

/** One row of the settings table; `Settings`, parsing, defaults, `.env.example` and docs/settings.md follow from it. */
export type Setting = {
  /** Group and name of the value in `Settings`. */
  field: `${string}.${string}`;
  /** Meaning of the value, in one line. */
  help: string;
  /** Text used when none is given; null means that the value is null too. */
  default: string | null;
  parser: SettingParser<unknown>;
  /** Marks a secret: never printed, and readable from the file that NAME_FILE names. */
  isSecret?: true;
  /** Marks a setting that every request to the service needs. */
  isRequired?: true;
};

/** Builds a parser from `parse`, which returns undefined for a text that does not fit. */
function parsed<T>(expected: string, parse: (text: string) => T | undefined): SettingParser<T> {
  return z.string().transform((text, context) => {
    const value = parse(text.trim());
    if (value !== undefined) return value;
    context.addIssue({ code: 'custom', message: expected });
    return z.NEVER;
  });
}

/** Builds a parser from `parse`, which throws an Error whose message describes the expected value. */
export function parsedOrThrown<T>(parse: (text: string) => T): SettingParser<T> {
  return z.string().transform((text, context) => {
    try {
      return parse(text.trim());
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message });
      return z.NEVER;
    }
  });
}

export const plainText: SettingParser<string> = z.string();

export function oneOf<const T extends readonly string[]>(...names: T): SettingParser<T[number]> {
  return parsed(names.join(', '), (text) => names.find((name) => name === text.toLowerCase()));
}

/** Parses `true` or `false`. */
export const trueOrFalse = parsed('true, false', (text) => {
  const word = text.toLowerCase();
  return word === 'true' || word === 'false' ? word === 'true' : undefined;
});

export function integer(min: number, max: number): SettingParser<number> {
  return parsed(`a whole number from ${min} to ${max}`, (text) => wholeNumber(text, min, max));
}

/** Accepts `off` as null, and otherwise the values of the given parser. */
export function orOff<T>(parser: SettingParser<T>): SettingParser<T | null> {
  return z.string().transform((text, context) => {
    if (text.trim().toLowerCase() === 'off') return null;
    const result = parser.safeParse(text);
    if (result.success) return result.data;
    const expected = result.error.issues[0]?.message ?? '';
    context.addIssue({ code: 'custom', message: `${expected}; or off` });
    return z.NEVER;
  });
}

const durationUnitsMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
export const yearMs = 365 * durationUnitsMs.d;
/** Longest delay of a Node timer. */
const timerMaxMs = 2 ** 31 - 1;

/** Parses `500ms`, `15s`, `5m`, `1h` or `7d`; returns milliseconds. */
export function duration(options: { minMs?: number; maxMs?: number } = {}): SettingParser<number> {
  const { minMs = 1, maxMs = timerMaxMs } = options;
  const longest = `${Math.floor(maxMs / durationUnitsMs.d)}d`;
  const expected = `a duration like 500ms, 15s, 5m, 1h or 7d, from ${durationText(minMs)} to ${longest}`;
  return parsed(expected, (text) => {
    const match = /^(\d{1,12}(?:\.\d{1,6})?)\s*(ms|s|m|h|d)$/.exec(text);
    if (!match) return undefined;
    const [, amount, unit] = match;
    const ms = Math.round(Number(amount) * durationUnitsMs[unit as keyof typeof durationUnitsMs]);
    return ms >= minMs && ms <= maxMs ? ms : undefined;
  });
}

/** 3600000 → `1h`: in the largest unit of which it is a whole number. */
function durationText(ms: number): string {
  const [unit, unitMs] = Object.entries(durationUnitsMs).findLast(
    ([, each]) => ms % each === 0,
  ) ?? ['ms', 1];
  return `${ms / unitMs}${unit}`;
}

/** Parses requests per second: a decimal above 0, up to 100000. */
export const requestRate = parsed('a decimal number above 0, up to 100000', (text) => {
  const rate = /^\d{1,6}(\.\d{1,6})?$/.test(text) ? Number(text) : 0;
  return rate > 0 && rate <= 100_000 ? rate : undefined;
});

/** Texts of the default states. */
export const successStates =
  'success,succeeded,successful,complete,completed,done,finished,confirmed';
export const finalStates = `${successStates},fail,failed,failure,reject,rejected,cancel,cancelled,canceled,refunded,expired,reverted,dropped`;

/** Parses comma-separated states; returns them in lower case. */
export const stateSet = parsed<ReadonlySet<string>>('state names with commas between', (text) => {
  const states = text.split(',').map((state) => state.trim().toLowerCase());
  return states.includes('') ? undefined : new Set(states);
});

/** Parses a text that may be sent in an HTTP header. */
export const headerText = parsed('printable ASCII characters without spaces', (text) =>
  /^[\x21-\x7e]+$/.test(text) ? text : undefined,
);

/** Parses a name that people read. */
export const shortName = parsed('1 to 40 letters, digits, . _ and -', (text) =>
  /^[\w.-]{1,40}$/.test(text) ? text : undefined,
);

/** Parses a token that is sent in a header, long enough that it cannot be guessed. */
export const longToken = parsed('16 or more printable ASCII characters without spaces', (text) =>
  /^[\x21-\x7e]{16,}$/.test(text) ? text : undefined,
);

/** Parses a token that is part of an address's path. */
export const pathToken = parsed('16 to 200 characters: letters, digits, . _ and -', (text) =>
  /^[\w.-]{16,200}$/.test(text) ? text : undefined,
);

export function wholeNumber(text: string, min: number, max: number): number | undefined {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : undefined;
}

export const recipeNames = [
  'params-secp256k1',
  'body-secp256k1',
  'body-ed25519',
  'concat-ecdsa',
  'params-hmac',
  'body-hmac',
] as const;

/** Returns true if WALLET_SIGNER names a recipe; otherwise it is the path of a module. */
export function isSigningRecipe(signer: string): boolean {
  return recipeNames.some((name) => name === signer);
}

export const signerName = parsed(
  `${recipeNames.join(', ')}, or the path of a module (./my-signer.mjs)`,
  (text) => (isSigningRecipe(text) || /\/|\.[cm]?js$|\.ts$/.test(text) ? text : undefined),
);
export const queuePrefix = parsed('letters, digits, - and _', (text) =>
  /^[\w-]{1,100}$/.test(text) ? text : undefined,
);
export const hostName = parsed('a host name or an IP address', (text) =>
  /^[\w.:[\]-]+$/.test(text) ? text.replace(/^\[|\]$/g, '') : undefined,
);

/** Row of a job's interval. */
export function per<const Name extends string>(name: Name, help: string, text: string) {
  return {
    field: `schedule.${name}EveryMs` as const,
    help: `Interval ${help}; off disables it`,
    default: text,
    parser: orOff(duration()),
  };
}
