/** Takes bytes sequentially: a file being written, a download, memory. */
export interface ByteSink {
  /** Appends `bytes`; the caller may change them as soon as the promise resolves, and writes again only then. */
  write(bytes: Uint8Array): Promise<void>;
}
