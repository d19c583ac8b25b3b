import { alignUp } from '../../base/bytes.ts';
import {
  BUFFER_ALIGNMENT,
  type BufferRange,
  type Device,
  type DeviceBuffer,
  type PinnedBuffer,
} from '../../device/index.ts';
import { type AdapterChoice, MAX_ADAPTERS_PER_ROW } from '../../model/lora/adapter-set.ts';
import { type BatchShape, ELEMENT_BYTES, type Tensor, tensorBytes } from '../../ops/value.ts';

/** The small inputs of a step, and the words each of them takes for a batch shape. */
const INPUTS = {
  counts: () => 2,
  ids: (shape: BatchShape) => shape.rows,
  positions: (shape: BatchShape) => shape.rows,
  slots: (shape: BatchShape) => shape.rows,
  slot_rows: (shape: BatchShape) => 2 * shape.slots,
  causal_limits: (shape: BatchShape) => shape.rows,
  types: (shape: BatchShape) => shape.rows,
  adapters: (shape: BatchShape) => shape.rows * MAX_ADAPTERS_PER_ROW,
  adapter_scales: (shape: BatchShape) => shape.rows * MAX_ADAPTERS_PER_ROW,
  output_rows: (shape: BatchShape) => shape.outputs,
  next_ids: (shape: BatchShape) => shape.rows,
  next_positions: (shape: BatchShape) => shape.rows,
  hidden_rows: (shape: BatchShape) => shape.rows,
  sampled_positions: (shape: BatchShape) => shape.rows,
  draft_positions: (shape: BatchShape) => shape.rows,
} as const;

type InputName = keyof typeof INPUTS;

/** The id of a row without one: neither an earlier step's token nor a row of the embedding. */
const NO_ID = -(2 ** 30);

const NAMES = Object.keys(INPUTS) as InputName[];

/** A batch shape, and the names of the inputs that its graphs read. */
export interface ReadInputs {
  readonly shape: BatchShape;
  readonly names: ReadonlySet<string>;
}

/** The offset of each input that is read, and the total size, in bytes. */
function layoutOf({ shape, names }: ReadInputs): {
  offsets: ReadonlyMap<string, number>;
  byteLength: number;
} {
  const offsets = new Map<string, number>();
  let end = 0;
  for (const name of NAMES) {
    if (!names.has(name)) continue;
    offsets.set(name, end);
    end = alignUp(end + INPUTS[name](shape) * ELEMENT_BYTES.i32, BUFFER_ALIGNMENT);
  }
  return { offsets, byteLength: end };
}

/** One step's small inputs in pinned memory. The host writes them through views. */
export class StepInputs implements Disposable {
  /** Embedding vectors in place of ids, by row. */
  readonly vectors: Map<number, Float32Array> = new Map();
  readonly pinned: PinnedBuffer;
  readonly #views: Record<InputName, Int32Array>;
  /** `adapter_scales`, the only floats. */
  readonly #scales: Float32Array;

  constructor(
    device: Device,
    of: ReadInputs,
    /** Its index among the slots of a plan. */
    readonly index: number,
  ) {
    const { offsets, byteLength } = layoutOf(of);
    this.pinned = device.createPinned(byteLength, 'batch inputs');
    const { buffer, byteOffset } = this.pinned.bytes;
    const view = (name: InputName) => {
      const offset = offsets.get(name);
      if (offset === undefined) return new Int32Array(0);
      return new Int32Array(buffer, byteOffset + offset, INPUTS[name](of.shape));
    };
    const scales = view('adapter_scales');
    this.#scales = new Float32Array(scales.buffer, scales.byteOffset, scales.length);
    this.#views = Object.fromEntries(NAMES.map((name) => [name, view(name)])) as Record<
      InputName,
      Int32Array
    >;
  }

  /** The words of an input; empty for one that nothing reads. */
  view(name: InputName): Int32Array {
    return this.#views[name];
  }

  /** Writes the id of a row, or records its vector. */
  writeId(row: number, id: number, vector: Float32Array | undefined): void {
    this.view('ids')[row] = vector ? NO_ID : id;
    if (vector) this.vectors.set(row, vector);
  }

  /** Forgets which rows slots had in the step before. */
  clearSlotRows(): void {
    this.view('slot_rows').fill(0);
  }

  /** Writes that `count` rows from `row` on are a slot's, behind those that it has. */
  addSlotRows(slot: number, row: number, count: number): void {
    const rows = this.view('slot_rows');
    if (rows[2 * slot + 1] === 0) rows[2 * slot] = row;
    rows[2 * slot + 1] = row + count;
  }

  /** Writes the id behind a row and its position, which a model's predictor reads. */
  writeNext(row: number, id: number, position: number): void {
    this.view('next_ids')[row] = id;
    this.view('next_positions')[row] = position;
  }

  /** Writes the adapters of a row; unused ones of its `perRow` entries get scale 0. */
  writeAdapters(row: number, perRow: number, choices: readonly AdapterChoice[]): void {
    for (let i = 0; i < perRow; i++) {
      const { index = 0, scale = 0 } = choices[i] ?? {};
      this.view('adapters')[row * perRow + i] = index;
      this.#scales[row * perRow + i] = scale;
    }
  }

  [Symbol.dispose](): void {
    this.pinned[Symbol.dispose]();
  }
}

/**
 * The small inputs of a batch shape, contiguous in one buffer, so that one copy uploads those of a step; with one
 * pinned slot for each step that may be in flight, which is rewritten when its step is done.
 */
export class BatchInputs implements Disposable {
  readonly slots: readonly StepInputs[];
  readonly #buffer: DeviceBuffer;
  readonly #offsets: ReadonlyMap<string, number>;

  constructor(device: Device, of: ReadInputs, slotCount: number) {
    const { offsets, byteLength } = layoutOf(of);
    this.#offsets = offsets;
    this.#buffer = device.createBuffer(byteLength, 'batch inputs');
    const slots: StepInputs[] = [];
    this.slots = slots;
    try {
      while (slots.length < slotCount) slots.push(new StepInputs(device, of, slots.length));
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  /** Bytes of the inputs of a batch shape, once on the device and once per slot on the host. */
  static byteLength(of: ReadInputs): number {
    return layoutOf(of).byteLength;
  }

  /** The whole buffer, as the target of the upload. */
  range(): BufferRange {
    return { buffer: this.#buffer, offset: 0, byteLength: this.#buffer.byteLength };
  }

  /** Device memory of one of a graph's inputs, or undefined if it is not one of the small ones. */
  rangeOf(input: Tensor, shape: BatchShape): BufferRange | undefined {
    const offset = this.#offsets.get(input.name);
    if (offset === undefined) return undefined;
    return { buffer: this.#buffer, offset, byteLength: tensorBytes(input, shape) };
  }

  [Symbol.dispose](): void {
    for (const slot of this.slots) slot[Symbol.dispose]();
    this.#buffer[Symbol.dispose]();
  }
}
