import { entry } from './entry.ts';

/** Failures of ownership, cancellation and the caller's arguments. */
export const baseErrors = {
  DISPOSED: entry<{ what: string }>(
    500,
    'An object was used after it was disposed.',
    'Keep the object alive while it is in use, or create a new one.',
    (p) => `${p.what} was used after it was disposed`,
  ),
  ABORTED: entry<{ what: string }>(
    499,
    'The work was cancelled by its AbortSignal.',
    'Nothing: this is what was asked for. Start it again if it was a mistake.',
    (p) => `${p.what} was aborted`,
  ),
  INVALID_ARGUMENT: entry<{ name: string; found: string; expected: string }>(
    400,
    'An argument or option has a value outside its range.',
    'Pass a value of the stated form.',
    (p) => `${p.name}: found ${p.found}, expected ${p.expected}`,
  ),
  OPTION_UNKNOWN: entry<{ of: string; option: string; nearest: string | undefined; known: string }>(
    400,
    'An option has an unknown name.',
    'Correct the name, or leave the option out.',
    ({ of, option, nearest, known }) =>
      `${of} has no option "${option}"${nearest === undefined ? `; it has ${known}` : `: is "${nearest}" meant?`}`,
  ),
  PACKAGE_INCOMPLETE: entry<{ file: string }>(
    500,
    'A file of the package is not where its code expects it: a bundler moved the code, or files were deleted.',
    'Mark the package `rocmforge` as external in the bundler (esbuild: `--external:rocmforge`), or install it again.',
    (p) =>
      `${p.file} of the package rocmforge is missing: its code was bundled into another file, or it is not whole`,
  ),
  STREAM_READ: entry<Record<string, never>>(
    400,
    'A text stream was read twice.',
    'Iterate it once, or await `text()`, which returns the whole text any number of times.',
    () => 'this text stream is already being read, or was read or abandoned before',
  ),
  INTERNAL: entry<{ what: string }>(
    500,
    'An invariant of rocmforge does not hold: this is a bug.',
    'Please report it with the message and the stack.',
    (p) => `internal error: ${p.what}`,
  ),
} as const;
