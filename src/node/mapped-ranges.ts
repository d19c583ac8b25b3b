import { alignUp } from '../base/bytes.ts';
import type { MappedRange } from '../io/index.ts';
import { MAP_ALIGNMENT, type Mapping, type MemoryMapper } from './memory-mapper.ts';

/** Ranges lie in so much memory one after another: the garbage collector takes every view for as much that was allocated. */
const ROOM_BYTES = 2 ** 30;

/** Memory for ranges. It ends with the last of them. */
interface Room {
  readonly mapping: Mapping;
  filled: number;
  users: number;
}

/** Maps ranges of a file each to pages of its own, where windows would share those in which two ranges meet. */
export class MappedRanges {
  readonly #mapper: MemoryMapper;
  readonly #fd: number;
  #room: Room | undefined;

  constructor(mapper: MemoryMapper, fd: number) {
    this.#mapper = mapper;
    this.#fd = fd;
  }

  /** Undefined where the system does not map the range, or not bring all of it into memory. */
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
    // Address space alone: what lies there is replaced before it is touched.
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
