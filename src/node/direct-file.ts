import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/**
 * Alignment of offsets, lengths and addresses of direct reads: a multiple of the block size of all disks and file
 * systems.
 */
export const DIRECT_ALIGNMENT = 4096;

/**
 * A second descriptor of an open file that bypasses the page cache: for data that is not cached, copying through the
 * cache is only overhead. Opened on the first read; if the system refuses, or the memory is not aligned, `read` returns
 * undefined and the caller reads normally.
 */
export class DirectFile {
  readonly #fd: number;
  #opening: Promise<FileHandle | undefined> | undefined;
  #refused = false;

  constructor(fd: number) {
    this.#fd = fd;
  }

  /** The number of bytes read, or undefined if this range or this memory cannot be read directly. */
  async read(into: Uint8Array, position: number): Promise<number | undefined> {
    const aligned = position % DIRECT_ALIGNMENT === 0 && into.byteLength % DIRECT_ALIGNMENT === 0;
    if (this.#refused || !aligned || into.byteLength === 0) return undefined;
    this.#opening ??= reopen(this.#fd);
    const handle = await this.#opening;
    if (!handle) return undefined;
    try {
      return (await handle.read(into, 0, into.byteLength, position)).bytesRead;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error;
      this.#refused = true;
      return undefined;
    }
  }

  async close(): Promise<void> {
    this.#refused = true;
    await (await this.#opening)?.close();
  }
}

/** Through its descriptor, so that it is the same file even if another one has taken its name. */
async function reopen(fd: number): Promise<FileHandle | undefined> {
  const { O_DIRECT, O_RDONLY } = constants as Partial<typeof constants>;
  if (O_DIRECT === undefined || O_RDONLY === undefined) return undefined;
  return open(`/proc/self/fd/${fd}`, O_RDONLY | O_DIRECT).catch(() => undefined);
}
