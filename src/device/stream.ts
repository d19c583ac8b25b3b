import type { TensorFormat } from '../formats/tensor-format.ts';
import type { BufferRange, PinnedBuffer } from './memory.ts';
import type { PackedWeight, Step } from './program.ts';
import type { Range } from '../ops/value.ts';

/** Some rows of a packed weight. */
export interface WeightRows {
  /** The index of the weight's part that they belong to. */
  readonly part: number;
  readonly firstRow: number;
  readonly rowCount: number;
  /**
   * Their format if it is not the part's: only one for which `Device.readyToDecode` resolved to true; otherwise
   * `BINDING`.
   */
  readonly format?: TensorFormat | undefined;
}

/** Rows that do not follow one another: some bytes of some rows of a matrix. */
export interface RowCut {
  /** Bytes of a row of the matrix. */
  readonly stride: number;
  /** Which rows, counted from the first one in the memory. */
  readonly rows: readonly Range[];
  /** Which bytes of each, that become one row. */
  readonly bytes: readonly Range[];
}

/** Rows of a tensor of a model's file, of which the device's process has a copy of its own. */
export interface FileRows {
  /** As the program that opened the model has it. */
  readonly tensor: { readonly name: string };
  /** Bytes from the tensor's beginning to the first row. */
  readonly offset: number;
  /** Where the rows lie from there on, if not one after another. */
  readonly cut?: RowCut | undefined;
}

/** Pinned memory that contains rows as in the file. */
export interface PinnedRows {
  readonly pinned: PinnedBuffer;
  /** Offset of the first row. */
  readonly offset: number;
  /** Where the rows lie from there on, if not one after another: only where `Device.packsCuts`. */
  readonly cut?: RowCut | undefined;
  /** Where the same rows are in the model's file, if they are there as they are: for those of a group's devices that have a copy of it. */
  readonly file?: FileRows | undefined;
  /** Maximum bytes that are packed at once over the stream, so that its buffers need not grow. */
  readonly maxBytes?: number | undefined;
  /** Called with an event between the copy and the packing, by devices that do these one after the other. */
  readonly onCopy?: ((copied: DeviceEvent) => void) | undefined;
}

/**
 * An ordered queue of work on a device. Every call returns immediately; work runs in the order of the calls. Host
 * memory passed to `upload` or `pack` may be modified once an event recorded after the call has completed. Arguments
 * are checked by the call itself: `BINDING` for a range that is outside its buffer, misaligned or too small, `DISPOSED`
 * for a disposed object. An error of a queued call rejects the next `synchronize`, `download` or event, and every later
 * one; work queued after it is skipped. Disposal waits for the queued work and does not reject.
 */
export interface Stream extends AsyncDisposable {
  /** Copies `source` to the start of `target`. Pinned memory is copied without staging. */
  upload(source: Uint8Array, target: BufferRange): void;
  /** Copies between buffers; `source` and `target` have the same length and do not overlap. */
  copy(source: BufferRange, target: BufferRange): void;
  /** Copies the start of `source` into `into`, and resolves when it is there. */
  download(source: BufferRange, into: Uint8Array): Promise<void>;
  /** Packs rows of a weight from pinned memory into the layout that the program requires. */
  pack(weight: PackedWeight, rows: WeightRows, from: PinnedRows, target: BufferRange): void;
  /**
   * Packs rows that the device's process, another than this one, reads from its own file, in the format of that: only for a weight that
   * has them there (`PackedWeight.hasOwn`).
   */
  packOwn?(weight: PackedWeight, rows: WeightRows, from: FileRows, target: BufferRange): void;
  run(step: Step): void;
  /** A point in the queue: complete when everything before it is. */
  record(): DeviceEvent;
  /**
   * Makes later work wait on the device for another stream's event, without blocking the host. An error before that
   * event is passed on.
   */
  wait(event: DeviceEvent): void;
  /** Resolves when everything queued so far is done. */
  synchronize(): Promise<void>;
}

/** A point in a stream. */
export interface DeviceEvent {
  /** True if everything before it is done; does not wait. Throws the stream's error if something before it failed. */
  query(): boolean;
  completed(): Promise<void>;
  /** Milliseconds from an earlier event's completion to this one's; both must be complete. */
  elapsedSince(earlier: DeviceEvent): number;
}
