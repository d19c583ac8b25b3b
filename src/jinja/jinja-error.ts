/**
 * What went wrong: the template's syntax, a step of rendering, a bound of rendering, or an objection of the template's own
 * (`raise_exception`).
 */
export type JinjaFailure = 'syntax' | 'runtime' | 'limit' | 'rejected';

/** A failure of a template, with the line of its source once that is known. */
export class JinjaError extends Error {
  line: number | undefined;

  constructor(
    readonly kind: JinjaFailure,
    message: string,
    line?: number,
  ) {
    super(message);
    this.line = line;
  }
}

/** Throws a failure of rendering; the words are Python's. */
export function raise(message: string): never {
  throw new JinjaError('runtime', message);
}

/** Throws a failure of the source. */
export function syntaxError(message: string, line: number): never {
  throw new JinjaError('syntax', message, line);
}
