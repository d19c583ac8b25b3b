import { fail } from '../../base/errors.ts';

/** How the JSON of a schema is written. */
export interface SchemaOptions {
  /**
   * Where whitespace may stand: `compact` nowhere, `usual` (the default) a space after `:` and `,` and a new line with its
   * indentation, `flexible` up to 32 characters wherever JSON has it. Compact JSON is right in all three.
   */
  readonly whitespace?: 'compact' | 'usual' | 'flexible';
  /** What `format` is: an `annotation` (the default, as in draft 2020-12) or an `assertion`. */
  readonly formats?: 'annotation' | 'assertion';
}

/** Refuses a schema for a keyword that cannot be honoured as it stands. Throws `SCHEMA_UNSUPPORTED`. */
export function refuse(keyword: string, pointer: string, reason: string): never {
  fail('SCHEMA_UNSUPPORTED', { keyword, pointer, reason });
}

/** Refuses a schema that is none. Throws `GRAMMAR_INVALID`. */
export function invalid(pointer: string, reason: string): never {
  fail('GRAMMAR_INVALID', { reason: `at "${pointer}": ${reason}` });
}
