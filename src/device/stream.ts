import type { TensorFormat } from '../formats/tensor-format.ts';
import type { BufferRange, PinnedBuffer } from './memory.ts';
import type { PackedWeight, Step } from './program.ts';

/** Some rows of a packed weight. */
export interface WeightRows {
  /** Which of the weight's parts they belong to. */
  readonly part: number;
  readonly firstRow: number;
  readonly rowCount: number;
  /** The format they come in where it is not the part's: only one that `Device.readyToDecode` was true for; `BINDING` otherwise. */
  readonly format?: TensorFormat | undefined;
}

/** Pinned memory in which rows stand as in the file. */
export interface PinnedRows {
  readonly pinned: PinnedBuffer;
  /** Where the first row begins. */
  readonly offset: number;
  /** Bytes of the most rows that are packed at once over the stream, so that its buffers need not grow. */
  readonly maxBytes?: number | undefined;
  /** Is given an event between the copy and what lays the rows out, by devices that do the one after the other. */
  readonly onCopy?: ((copied: DeviceEvent) => void) | undefined;
}

/**
 * An ordered queue of work on a device. Every call returns at once; work runs in the order of the calls. Host memory given
 * to `upload` or `pack` may be changed again after an event recorded after the call has completed. Arguments are checked
 * by the call itself: `BINDING` for a range outside its buffer, not aligned or too small, `DISPOSED` for a disposed object.
 * An error of a queued call rejects the next `synchronize`, `download` or event, and every later one; what is queued after
 * it is left out. Disposal waits for the queued work and does not reject.
 */
export interface Stream extends AsyncDisposable {
  /** Copies `source` to the start of `target`. Pinned memory is copied without staging. */
  upload(source: Uint8Array, target: BufferRange): void;
  /** Copies between buffers; `source` and `target` have one length and do not overlap. */
  copy(source: BufferRange, target: BufferRange): void;
  /** Copies the start of `source` into `into`, and resolves when it is there. */
  download(source: BufferRange, into: Uint8Array): Promise<void>;
  /** Brings rows of a weight from pinned memory into the layout that the program asked for. */
  pack(weight: PackedWeight, rows: WeightRows, from: PinnedRows, target: BufferRange): void;
  run(step: Step): void;
  /** A point in the queue: complete when everything before it is. */
  record(): DeviceEvent;
  /** What follows waits on the device for another stream's event; the host does not. Takes over that event's error. */
  wait(event: DeviceEvent): void;
  /** Resolves when everything queued so far is done. */
  synchronize(): Promise<void>;
}

/** A point in a stream. */
export interface DeviceEvent {
  /** True when everything before it is done; costs no wait. Throws the stream's error when something before it failed. */
  query(): boolean;
  completed(): Promise<void>;
  /** Milliseconds from an earlier event's completion to this one's; both must be complete. */
  elapsedSince(earlier: DeviceEvent): number;
}
