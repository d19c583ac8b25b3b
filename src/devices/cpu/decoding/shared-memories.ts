import type { WasmMemory } from '../../../base/web-types.ts';
import { alignUp } from '../../../base/bytes.ts';

const WASM_PAGE_BYTES = 64 * 1024;

/** A memory that the kernels of every worker see, and the part of it that is handed out. */
export interface SharedMemory {
  readonly id: number;
  readonly memory: WasmMemory;
  readonly bytes: Uint8Array;
}

/** The memories in which decoding needs no copies, found by any view of them. */
export class SharedMemories {
  readonly #reservedBytes: number;
  readonly #byBuffer = new WeakMap<ArrayBufferLike, SharedMemory>();
  #count = 0;

  /** `reservedBytes` at the start of each memory belong to the kernels: their tables, and the workers' scratch. */
  constructor(reservedBytes: number) {
    this.#reservedBytes = alignUp(reservedBytes, WASM_PAGE_BYTES);
  }

  /** Throws a RangeError if the platform cannot allocate it. */
  create(byteLength: number): SharedMemory {
    const pages = Math.ceil((this.#reservedBytes + byteLength) / WASM_PAGE_BYTES);
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
    const bytes = new Uint8Array(memory.buffer, this.#reservedBytes, byteLength);
    const created = { id: this.#count++, memory, bytes };
    this.#byBuffer.set(memory.buffer, created);
    return created;
  }

  of({ buffer }: Uint8Array): SharedMemory | undefined {
    return this.#byBuffer.get(buffer);
  }

  forget({ memory }: SharedMemory): void {
    this.#byBuffer.delete(memory.buffer);
  }
}
