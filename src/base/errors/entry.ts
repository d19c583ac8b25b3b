/** Values that a message may name. */
export type ErrorParams = Readonly<Record<string, string | number | bigint | boolean | undefined>>;

/**
 * One kind of failure. `message` says what was found and what was expected; `fix` says what the user can do. `status`
 * is the HTTP status with which a server answers.
 */
export interface ErrorEntry<P extends ErrorParams = ErrorParams> {
  readonly status: number;
  readonly summary: string;
  readonly fix: string;
  message(params: P): string;
}

/** Declares an entry and keeps the type of its parameters. */
export function entry<P extends ErrorParams>(
  status: number,
  summary: string,
  fix: string,
  message: (params: P) => string,
): ErrorEntry<P> {
  return { status, summary, fix, message };
}
