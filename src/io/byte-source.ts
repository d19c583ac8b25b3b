/** A range of a source in separate memory: no other range shares one of its pages. Its owner disposes it. */
export interface MappedRange extends Disposable {
  /** Whole pages. They must not be written to, nor touched after disposal; changes of the source show through. */
  readonly bytes: Uint8Array;
  /** Offset of the range in them. */
  readonly lead: number;
}

/**
 * Bytes that can be read by range: a file, a Blob, memory, a remote file.
 *
 * Ranges may be asked for in any order and many at once. A read fills `into` completely or rejects with a typed error and
 * leaves the content of `into` undefined; it keeps no reference to `into` afterwards, and `into` may lie in shared memory.
 * The creator owns the source. Disposing waits for nothing: reads still under way may reject, reads begun later throw
 * `DISPOSED`.
 */
export interface ByteSource extends AsyncDisposable {
  /** A path, URL or description; split files use it to find the other parts. */
  readonly name: string;

  /** Length in bytes, fixed for the life of the source. */
  readonly size: number;

  /**
   * Ranges that start at multiples of this, and end at one or at the end of the source, are read most efficiently: a
   * power of two up to 4096.
   */
  readonly readAlignment?: number;

  /**
   * Fills `into` with the bytes from `offset` on. Rejects with `READ_OUT_OF_RANGE` before any I/O when the range does not lie
   * in the source, `READ_SHORT` when the bytes end early, `SOURCE_CHANGED` when they are no longer the same file's,
   * `READ_FAILED` when the system says no, `ABORTED`.
   */
  read(offset: number, into: Uint8Array, signal?: AbortSignal): Promise<void>;

  /**
   * The same bytes without a copy, where the source can give them; undefined where it cannot (the caller reads then). The
   * view must not be written to, nor touched after the source is disposed.
   */
  view?(offset: number, length: number): Uint8Array | undefined;

  /**
   * The same bytes without a copy, loaded into memory if necessary: for devices that copy from them repeatedly.
   * Undefined if the source cannot. The result may outlive the source.
   */
  map?(offset: number, length: number): Promise<MappedRange | undefined>;

  /** Rejects with `SOURCE_CHANGED` when the content is known to have changed since the source was opened. */
  checkUnchanged?(): Promise<void>;

  /** Releases what the source holds. The second call does nothing. */
  dispose(): Promise<void>;
}

/** Opens the source of the given name: how a split file reaches its siblings. Rejects when there is none. */
export type SourceResolver = (name: string) => Promise<ByteSource>;
