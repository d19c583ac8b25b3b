import { alignUp } from '../base/bytes.ts';
import type { MappedRange } from '../io/index.ts';
import { MAP_ALIGNMENT, type Mapping, type MemoryMapper } from './memory-mapper.ts';

/** Ranges are placed in regions of this size: the garbage collector counts every view as a separate allocation. */
const ROOM_BYTES = 2 ** 30;

/** A region for ranges. It is released with the last of them. */
interface Room {
  readonly mapping: Mapping;
  filled: number;
  users: number;
}

/** Maps ranges of a file to separate pages, whereas windows would share the pages in which two ranges meet. */
export class MappedRanges {
  readonly #mapper: MemoryMapper;
  readonly #fd: number;
  #room: Room | undefined;

  constructor(mapper: MemoryMapper, fd: number) {
    this.#mapper = mapper;
    this.#fd = fd;
  }

  /** Undefined if the system cannot map the range, or not load all of it into memory. */
  async map(offset: number, length: number): Promise<MappedRange | undefined> {
    const lead = offset % MAP_ALIGNMENT;
    const bytes = lead + length;
    let room: Room | undefined;
    try {
      room = this.#roomFor(alignUp(bytes, MAP_ALIGNMENT));
      room.users++;
      const at = room.filled;
      room.filled += alignUp(bytes, MAP_ALIGNMENT);
      const { mapping } = room;
      mapping.replace(at, { fd: this.#fd, offset: offset - lead, length: bytes });
      if (await mapping.populate(at, bytes)) {
        return {
          bytes: mapping.bytes.subarray(at, at + bytes),
          lead,
          [Symbol.dispose]: () => this.#leave(room),
        };
      }
    } catch {
      // Refused: the system maps no more.
    }
    this.#leave(room);
    return undefined;
  }

  #roomFor(bytes: number): Room {
    const room = this.#room;
    if (room && room.filled + bytes <= room.mapping.bytes.byteLength) return room;
    // Only address space: the pages are replaced before they are touched.
    const mapping = this.#mapper.map(this.#fd, 0, Math.max(bytes, ROOM_BYTES));
    this.#room = { mapping, filled: 0, users: 0 };
    return this.#room;
  }

  #leave(room: Room | undefined): void {
    if (!room || --room.users > 0) return;
    if (room === this.#room) this.#room = undefined;
    room.mapping.unmap();
  }
}
