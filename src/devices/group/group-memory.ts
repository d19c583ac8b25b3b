import { Lifetime } from '../../base/disposal.ts';
import { fail } from '../../base/errors.ts';
import { type BufferRange, type DeviceBuffer, HostPinned, type PinnedBuffer } from '../../device/index.ts';

/** Memory of a group: a buffer of the same size on every rank, in which offsets mean the same. */
export class GroupBuffer implements DeviceBuffer {
  readonly #lifetime: Lifetime;
  readonly #ended: (buffer: GroupBuffer) => void;

  constructor(
    readonly byteLength: number,
    readonly label: string,
    /** Of each rank. */
    readonly ranks: readonly DeviceBuffer[],
    ended: (buffer: GroupBuffer) => void,
  ) {
    this.#ended = ended;
    this.#lifetime = new Lifetime(`buffer ${label}`);
  }

  /** Throws `DISPOSED` after disposal. */
  check(): void {
    this.#lifetime.check();
  }

  [Symbol.dispose](): void {
    if (!this.#lifetime.end()) return;
    for (const buffer of this.ranks) buffer[Symbol.dispose]();
    this.#ended(this);
  }
}

/**
 * Host memory of a group. The ranks copy out of it what is theirs, if they can; otherwise the host cuts that out, and the memory needs no
 * pinning: the ranks' own pinned memory is behind their streams.
 */
export class GroupPinned extends HostPinned {
  /** `native`: the same memory, as the ranks copy out of it. */
  constructor(
    bytes: Uint8Array,
    label: string,
    readonly native: PinnedBuffer | undefined,
    ended: () => void,
  ) {
    super(bytes, label, () => {
      native?.[Symbol.dispose]();
      ended();
    });
  }
}

/** The group's buffer of a range. Throws `BINDING` for another device's, `DISPOSED` after its disposal. */
export function groupBuffer({ buffer }: Pick<BufferRange, 'buffer'>, use: string): GroupBuffer {
  if (buffer instanceof GroupBuffer) {
    buffer.check();
    return buffer;
  }
  const found = `${buffer.label}, of a single device`;
  return fail('BINDING', { graph: 'group', value: use, found, expected: 'memory of the group' });
}

/** The part of a group's range that lies on one rank. */
export function onRank(range: BufferRange, rank: number): BufferRange {
  const buffer = groupBuffer(range, 'range').ranks[rank] as DeviceBuffer;
  return { buffer, offset: range.offset, byteLength: range.byteLength };
}
