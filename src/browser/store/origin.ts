import type { RemoteIdentity } from '../../io/index.ts';

/** A file's bytes from `start` on, and what is known about the file. */
export interface Feed {
  readonly start: number;
  /** Size of the whole file in bytes; undefined if it is known only at the end. */
  readonly size: number | undefined;
  readonly validator: RemoteIdentity['validator'];
  /** To be read to its end or cancelled by the caller. */
  readonly body: ReadableStream<Uint8Array>;
}

/** The origin of a model that is being stored. */
export interface Origin {
  /** URL or file name, used in errors and to find the other parts of split models. */
  readonly name: string;
  /** The file's name, for people. */
  readonly fileName: string;
  /** The URL; undefined for a file. */
  readonly url: string | undefined;
  /** Identifies this file among all others. */
  readonly key: string;
  /**
   * The bytes from `offset` on, or from an earlier position if it cannot start there. Rejects with
   * `SOURCE_UNAVAILABLE`, `READ_FAILED` or `HTTP_STATUS`.
   */
  open(offset: number, signal: AbortSignal): Promise<Feed>;
}

/** A file of the user's. */
export function fileOrigin(file: File): Origin {
  const { name, size, lastModified } = file;
  const validator = String(lastModified);
  return {
    name,
    fileName: name,
    url: undefined,
    key: `file ${name} ${size} ${lastModified}`,
    open: async (offset) => ({ start: offset, size, validator, body: file.slice(offset).stream() }),
  };
}
