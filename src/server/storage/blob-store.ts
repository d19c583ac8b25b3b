/** A blob of a store. */
export interface BlobInfo {
  readonly name: string;
  readonly bytes: number;
  /** When it was last written, in milliseconds since 1970. */
  readonly writtenAt: number;
}

/**
 * Keeps bytes under names for longer than a request. Names have parts of letters, digits, `_`, `-` and `.` with `/`
 * between them. Two calls for the same name never overlap, except that a blob may be replaced or removed while it is read:
 * the reader then gets the rest of what it began to read.
 */
export interface BlobStore {
  /** All blobs, in any order. */
  list(): Promise<readonly BlobInfo[]>;
  /** The bytes of a blob, as they are pulled. */
  read(name: string): AsyncIterable<Uint8Array>;
  /** Creates or replaces a blob, once all of its content has arrived. Rejects with the content's errors, too. */
  write(name: string, content: AsyncIterable<Uint8Array>): Promise<void>;
  /** Adds bytes to the end of a blob, which may not exist yet. */
  append(name: string, bytes: Uint8Array): Promise<void>;
  /** Removes a blob, if it exists. */
  remove(name: string): Promise<void>;
}
