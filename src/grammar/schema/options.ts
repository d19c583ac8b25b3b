import { fail } from '../../base/errors.ts';

/** Options for how JSON is written. */
export interface SchemaOptions {
  /**
   * Where whitespace is allowed: `compact` nowhere, `usual` (the default) a space after `:` and `,` and a newline with
   * indentation, `flexible` up to 32 characters anywhere JSON allows it. Compact JSON is valid in all three.
   */
  readonly whitespace?: 'compact' | 'usual' | 'flexible';
  /** How `format` is treated: as an `annotation` (the default, as in draft 2020-12) or an `assertion`. */
  readonly formats?: 'annotation' | 'assertion';
}

/** Refuses a schema because of an unsupported keyword. Throws `SCHEMA_UNSUPPORTED`. */
export function refuse(keyword: string, pointer: string, reason: string): never {
  fail('SCHEMA_UNSUPPORTED', { keyword, pointer, reason });
}

/** Refuses an invalid schema. Throws `GRAMMAR_INVALID`. */
export function invalid(pointer: string, reason: string): never {
  fail('GRAMMAR_INVALID', { reason: `at "${pointer}": ${reason}` });
}
