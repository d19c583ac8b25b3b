import { alignUp } from '../base/bytes.ts';
import {
  BUFFER_ALIGNMENT,
  type BufferRange,
  type Device,
  type DeviceBuffer,
  type PinnedBuffer,
} from '../device/index.ts';
import { SAMPLING_ROW_WORDS } from '../ops/sampling/sampling-row.ts';
import { type BatchShape, ELEMENT_BYTES, type Tensor, tensorBytes } from '../ops/value.ts';

/** The small inputs of a step, and the words each of them takes for a batch shape. */
const INPUTS = {
  counts: () => 2,
  ids: (shape: BatchShape) => shape.rows,
  positions: (shape: BatchShape) => shape.rows,
  slots: (shape: BatchShape) => shape.rows,
  output_rows: (shape: BatchShape) => shape.outputs,
  blocks: (shape: BatchShape) => shape.slots * shape.blocksPerSlot,
  parameters: (shape: BatchShape) => shape.outputs * SAMPLING_ROW_WORDS,
} as const;

type InputName = keyof typeof INPUTS;

/**
 * A step's small inputs, side by side in one pinned buffer, so that one copy brings them to the device. The host writes
 * through the views, then calls `Stream.upload(pinned.bytes, range)`.
 */
export class BatchInputs implements Disposable {
  readonly pinned: PinnedBuffer;
  readonly #buffer: DeviceBuffer;
  readonly #offsets = new Map<string, number>();
  readonly #views: Record<InputName, Int32Array>;

  constructor(device: Device, shape: BatchShape) {
    let end = 0;
    for (const name of Object.keys(INPUTS) as InputName[]) {
      this.#offsets.set(name, end);
      end = alignUp(end + INPUTS[name](shape) * ELEMENT_BYTES.i32, BUFFER_ALIGNMENT);
    }
    this.pinned = device.createPinned(end, 'batch inputs');
    try {
      this.#buffer = device.createBuffer(end, 'batch inputs');
    } catch (error) {
      this.pinned[Symbol.dispose]();
      throw error;
    }
    const { buffer, byteOffset } = this.pinned.bytes;
    const view = (name: InputName) =>
      new Int32Array(buffer, byteOffset + (this.#offsets.get(name) as number), INPUTS[name](shape));
    this.#views = Object.fromEntries(
      Object.keys(INPUTS).map((name) => [name, view(name as InputName)]),
    ) as Record<InputName, Int32Array>;
  }

  /** Bytes that the inputs of a batch shape take, on the host and again on the device. */
  static byteLength(shape: BatchShape): number {
    return Object.values(INPUTS).reduce(
      (sum, words) => sum + alignUp(words(shape) * ELEMENT_BYTES.i32, BUFFER_ALIGNMENT),
      0,
    );
  }

  /** The words of an input, to be written by the host. */
  view(name: InputName): Int32Array {
    return this.#views[name];
  }

  /** Everything, as the target of the upload. */
  range(): BufferRange {
    return { buffer: this.#buffer, offset: 0, byteLength: this.#buffer.byteLength };
  }

  /** The device's memory of one of a graph's inputs, or undefined when it is not one of the small ones. */
  rangeOf(input: Tensor, shape: BatchShape): BufferRange | undefined {
    const offset = this.#offsets.get(input.name);
    if (offset === undefined) return undefined;
    return { buffer: this.#buffer, offset, byteLength: tensorBytes(input, shape) };
  }

  [Symbol.dispose](): void {
    this.pinned[Symbol.dispose]();
    this.#buffer[Symbol.dispose]();
  }
}
