import type { RemoteIdentity } from '../../io/index.ts';

/** A file's bytes from `start` on, and what is said of the file. */
export interface Feed {
  readonly start: number;
  /** Bytes of the whole file, undefined where that shows at its end only. */
  readonly size: number | undefined;
  readonly validator: RemoteIdentity['validator'];
  /** Read to its end or cancelled by whoever asked for the feed. */
  readonly body: ReadableStream<Uint8Array>;
}

/** Where a model that is being stored comes from. */
export interface Origin {
  /** Address or file name: what errors name, and by which split models find their other parts. */
  readonly name: string;
  /** The file's name, for people. */
  readonly fileName: string;
  /** The address, undefined for a file. */
  readonly url: string | undefined;
  /** What tells this file from all others. */
  readonly key: string;
  /**
   * The bytes from `offset` on, or from an earlier place where it cannot begin there. Rejects with `SOURCE_UNAVAILABLE`,
   * `READ_FAILED` or `HTTP_STATUS`.
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
