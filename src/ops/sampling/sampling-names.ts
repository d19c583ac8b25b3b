import { NO_TOKEN } from './no-token.ts';
import { SAMPLING_WORD } from './sampling-row.ts';

function named(prefix: string, values: Readonly<Record<string, number>>): Record<string, number> {
  const entries = Object.entries(values).map(([name, value]): [string, number] => {
    const words = name.replace(/[A-Z]/g, (letter) => `_${letter}`);
    return [`${prefix}_${words.toUpperCase()}`, value];
  });
  return Object.fromEntries(entries);
}

/** The words of a parameter row by their names in kernels: `WORD_TOP_K`. */
export const SAMPLING_WORD_NAMES: Readonly<Record<string, number>> = named('WORD', SAMPLING_WORD);

/** The values written instead of a token, by their names in kernels: `NO_TOKEN_NON_FINITE`. */
export const NO_TOKEN_NAMES: Readonly<Record<string, number>> = named('NO_TOKEN', NO_TOKEN);
