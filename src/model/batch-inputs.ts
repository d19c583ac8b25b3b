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

/** One of the places that the host writes a step's inputs to. */
interface HostInputs {
  readonly pinned: PinnedBuffer;
  readonly views: Readonly<Record<InputName, Int32Array>>;
}

/**
 * A step's small inputs, side by side in pinned memory, so that one copy brings them to the device. The host writes through
 * the views, then calls `Stream.upload(pinned.bytes, range)` and `turn`: the next step's are written elsewhere, while these may
 * still be on their way. The step before the last must have ended by then.
 */
export class BatchInputs implements Disposable {
  readonly #host: HostInputs[] = [];
  readonly #buffer: DeviceBuffer;
  readonly #offsets = new Map<InputName, number>();

  constructor(device: Device, shape: BatchShape) {
    let end = 0;
    for (const name of Object.keys(INPUTS) as InputName[]) {
      this.#offsets.set(name, end);
      end = alignUp(end + INPUTS[name](shape) * ELEMENT_BYTES.i32, BUFFER_ALIGNMENT);
    }
    try {
      for (let i = 0; i < 2; i++) this.#host.push(this.#createHost(device, end, shape));
      this.#buffer = device.createBuffer(end, 'batch inputs');
    } catch (error) {
      for (const { pinned } of this.#host) pinned[Symbol.dispose]();
      throw error;
    }
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
    return this.#current.views[name];
  }

  /** What is uploaded. */
  get pinned(): PinnedBuffer {
    return this.#current.pinned;
  }

  /** From now on, the next step's inputs are written. */
  turn(): void {
    this.#host.reverse();
  }

  /** Everything, as the target of the upload. */
  range(): BufferRange {
    return { buffer: this.#buffer, offset: 0, byteLength: this.#buffer.byteLength };
  }

  /** The device's memory of one of a graph's inputs, or undefined when it is not one of the small ones. */
  rangeOf(input: Tensor, shape: BatchShape): BufferRange | undefined {
    const offset = this.#offsets.get(input.name as InputName);
    if (offset === undefined) return undefined;
    return { buffer: this.#buffer, offset, byteLength: tensorBytes(input, shape) };
  }

  /** The device's memory of the first rows' ids. */
  idsRange(rows: number): BufferRange {
    const offset = this.#offsets.get('ids') ?? 0;
    return { buffer: this.#buffer, offset, byteLength: rows * ELEMENT_BYTES.i32 };
  }

  [Symbol.dispose](): void {
    for (const { pinned } of this.#host) pinned[Symbol.dispose]();
    this.#buffer[Symbol.dispose]();
  }

  get #current(): HostInputs {
    return this.#host[0] as HostInputs;
  }

  #createHost(device: Device, byteLength: number, shape: BatchShape): HostInputs {
    const pinned = device.createPinned(byteLength, 'batch inputs');
    const { buffer, byteOffset } = pinned.bytes;
    const view = (name: InputName) =>
      new Int32Array(buffer, byteOffset + (this.#offsets.get(name) as number), INPUTS[name](shape));
    const views = Object.fromEntries(
      Object.keys(INPUTS).map((name) => [name, view(name as InputName)]),
    ) as Record<InputName, Int32Array>;
    return { pinned, views };
  }
}
