/**
 * The kind of failure: the template's syntax, an error while rendering, an exceeded limit, or a rejection by the
 * template itself (`raise_exception`).
 */
export type JinjaFailure = 'syntax' | 'runtime' | 'limit' | 'rejected';

/** A failure of a template, with the line of its source if known. */
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

/** Throws an error of rendering; the messages are Python's. */
export function raise(message: string): never {
  throw new JinjaError('runtime', message);
}

/** Throws a syntax error. */
export function syntaxError(message: string, line: number): never {
  throw new JinjaError('syntax', message, line);
}
