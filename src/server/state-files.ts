import type { ByteSink, ByteSource } from '../io/index.ts';

/**
 * Files by name, in one place: the saved states of slots. Names are plain file names; those of a server with keys begin with the
 * owner's name and a slash.
 */
export interface StateFiles {
  /**
   * Writes a file, or replaces one, as a whole: if `write` rejects, it is as before. Rejects as `write`, and with
   * `WRITE_FAILED`.
   */
  write(name: string, write: (sink: ByteSink) => Promise<number>): Promise<number>;
  /** Opens a file; the caller disposes it. Rejects with `STATE_FILE_NOT_FOUND` and errors of reading. */
  open(name: string): Promise<ByteSource>;
}
