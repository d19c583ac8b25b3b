import { RocmforgeError } from '../../base/errors.ts';
import { type SentError, unpackError } from '../../base/sent-error.ts';

/** The other side's error. Throws for what is none. */
export function errorIn(text: unknown): Error {
  const sent = text as Partial<SentError> | undefined;
  const isError = typeof sent === 'object' && (typeof sent.code === 'string' || 'message' in sent);
  if (!isError) throw new RangeError('an error was sent without one');
  const error = unpackError(sent as SentError);
  return error instanceof RocmforgeError ? error : Object.assign(error, { stack: error.message });
}
