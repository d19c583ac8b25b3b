import { promisify } from 'node:util';
import type koffiExports from 'koffi';
import { importKoffi, natively } from './native-loading.ts';

/** Maps ranges of open files into memory, read-only. */
export interface MemoryMapper {
  /** Maps `length` bytes from `offset` on, a multiple of `MAP_ALIGNMENT`. Throws when the system refuses. */
  map(fd: number, offset: number, length: number): Mapping;
}

/** A part of an open file. */
export interface FileRange {
  readonly fd: number;
  readonly offset: number;
  readonly length: number;
}

/** Memory of a mapped range. Touching it after `unmap` crashes the process. */
export interface Mapping {
  readonly bytes: Uint8Array;
  /** True if the page at this offset is in memory, according to the system. */
  isResident(offset: number): boolean;
  /**
   * Maps another range, starting at a multiple of `MAP_ALIGNMENT`, over a part of this one. Throws when the system
   * refuses.
   */
  replace(at: number, range: FileRange): void;
  /** Loads a part into memory, on another thread. False if the system cannot, or if the file has become shorter. */
  populate(at: number, length: number): Promise<boolean>;
  unmap(): void;
}

/** A multiple of all page sizes (64 KiB on some ARM machines). */
export const MAP_ALIGNMENT = 64 << 10;

/** The smallest page size. With larger pages, the system may refuse to answer, and they count as resident. */
const PAGE_BYTES = 4096;

/**
 * `PROT_READ` and `MAP_SHARED`: the same values on Linux and macOS. Since nothing writes to the memory, a private
 * mapping would be equivalent, except for drivers that pin its pages: they would copy each one.
 */
const PROT_READ = 1;
const MAP_SHARED = 1;
const MAP_FIXED = 16;

/** Of the C library. */
interface Functions {
  mmap(
    hint: number,
    length: number,
    protection: number,
    flags: number,
    fd: number,
    offset: number,
  ): number | bigint;
  munmap(address: number | bigint, length: number): number;
  mincore(address: number, length: number, pages: Uint8Array): number;
  /** `madvise`, on another thread. */
  advise(address: number, length: number, advice: number): Promise<number>;
}

/** Linux 5.14 and later; other systems refuse it. */
const MADV_POPULATE_READ = 22;

/**
 * A mapper based on the C library, through koffi, an optional dependency. Rejects with a plain error that says why
 * there is none: no koffi for this machine, or a system without `mmap`.
 */
export async function loadMemoryMapper(): Promise<MemoryMapper> {
  const { default: koffi } = await importKoffi().catch((cause: unknown) => {
    throw new Error('koffi is not installed, or has no build for this machine', { cause });
  });
  const { mmap, munmap, mincore, advise } = natively(() => functionsOf(koffi));
  const page = new Uint8Array(1);
  const mapAt = (hint: number, flags: number, { fd, offset, length }: FileRange): number => {
    const address = mmap(hint, length, PROT_READ, flags, fd, offset);
    // MAP_FAILED is -1, the only address that does not fit into a double.
    if (typeof address === 'bigint' || address === 0) throw new Error(`mmap failed, errno ${koffi.errno()}`);
    return address;
  };
  return {
    map(fd, offset, length) {
      const address = mapAt(0, MAP_SHARED, { fd, offset, length });
      let bytes: Uint8Array | undefined;
      return {
        // V8 counts a view as memory that JavaScript holds, and collects garbage as if for want of it: twenty milliseconds for every
        // window of a large file, of which most are only asked what is resident.
        get bytes() {
          return (bytes ??= new Uint8Array(natively(() => koffi.view(address, length))));
        },
        isResident: (offset) => {
          const at = address + offset;
          page[0] = 0;
          return mincore(at - (at % PAGE_BYTES), 1, page) !== 0 || (page[0] & 1) === 1;
        },
        replace: (at, range) => void mapAt(address + at, MAP_SHARED | MAP_FIXED, range),
        populate: async (at, length) => (await advise(address + at, length, MADV_POPULATE_READ)) === 0,
        unmap: () => {
          munmap(address, length);
        },
      };
    },
  };
}

function functionsOf(koffi: typeof koffiExports): Functions {
  const c = koffi.load(null);
  const madvise = c.func('int madvise(uintptr_t, size_t, int)');
  return {
    mmap: c.func('uintptr_t mmap(uintptr_t, size_t, int, int, int, int64_t)'),
    munmap: c.func('int munmap(uintptr_t, size_t)'),
    mincore: c.func('int mincore(uintptr_t, size_t, void *)'),
    advise: promisify(madvise.async) as Functions['advise'],
  };
}
