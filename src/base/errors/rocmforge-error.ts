import { CATALOGUE, type ErrorCode, type ParamsOf } from './catalogue.ts';
import type { ErrorEntry, ErrorParams } from './entry.ts';

/**
 * The one error class. `code` is stable and comes from the catalogue; `message` states thing, found and expected;
 * `fix` says what to do; `params` holds the same facts as data; `cause` keeps the error underneath.
 */
export class RocmforgeError<C extends ErrorCode = ErrorCode> extends Error {
  override readonly name = 'RocmforgeError';
  /** The HTTP status that a server answers with. */
  readonly status: number;
  /** What to do about it, as a sentence. */
  readonly fix: string;

  constructor(
    readonly code: C,
    readonly params: ParamsOf<C>,
    options?: { cause?: unknown },
  ) {
    const entry = CATALOGUE[code] as ErrorEntry<ErrorParams>;
    super(entry.message(params as ErrorParams), options);
    this.status = entry.status;
    this.fix = entry.fix;
  }

  toJSON(): { code: ErrorCode; message: string; fix: string; params: unknown } {
    return { code: this.code, message: this.message, fix: this.fix, params: this.params };
  }
}

/** Throws the error of `code`. */
export function fail<C extends ErrorCode>(code: C, params: ParamsOf<C>, cause?: unknown): never {
  throw new RocmforgeError(code, params, cause === undefined ? undefined : { cause });
}

/** True for a rocmforge error, of the given code if there is one. */
export function isRocmforgeError<C extends ErrorCode>(error: unknown, code?: C): error is RocmforgeError<C> {
  return error instanceof RocmforgeError && (code === undefined || error.code === code);
}

/** Checks a condition that only a bug in rocmforge can violate. */
export function invariant(condition: unknown, what: string): asserts condition {
  if (!condition) fail('INTERNAL', { what });
}

/** Throws `ABORTED` when the signal has fired. */
export function throwIfAborted(signal: AbortSignal | undefined, what: string): void {
  if (signal?.aborted) fail('ABORTED', { what }, signal.reason);
}
