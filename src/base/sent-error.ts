import { type ErrorCode, isRocmforgeError, type ParamsOf, RocmforgeError } from './errors.ts';

/** An error in a form that crosses between threads. */
export type SentError =
  | { readonly code: ErrorCode; readonly params: unknown; readonly cause: string | undefined }
  | { readonly code: undefined; readonly name: string; readonly message: string; readonly stack: string };

/** Takes an error apart. Causes become text: what they are made of may not cross. */
export function packError(error: unknown): SentError {
  if (isRocmforgeError(error)) {
    const cause = error.cause instanceof Error ? error.cause.message : undefined;
    return { code: error.code, params: error.params, cause };
  }
  if (!(error instanceof Error)) return { code: undefined, name: 'Error', message: String(error), stack: '' };
  const { name, message, stack = '' } = error;
  return { code: undefined, name, message, stack };
}

/** Puts it together again: the same typed error on the other side. */
export function unpackError(sent: SentError): Error {
  if (sent.code === undefined) {
    return Object.assign(new Error(sent.message), { name: sent.name, stack: sent.stack });
  }
  const options = sent.cause === undefined ? undefined : { cause: sent.cause };
  return new RocmforgeError(sent.code, sent.params as ParamsOf<ErrorCode>, options);
}
