import type {
  BufferRange,
  Device,
  Executable,
  PackedWeight,
  Program,
  Stream,
} from '../../../src/device/index.ts';
import { type State, type Tensor, tensorBytes, weightRowBytes } from '../../../src/ops/index.ts';
import { seededRandom } from '../random.ts';
import type { CaseData } from './case-data.ts';
import { GuardedBuffer, poison } from './guarded-buffer.ts';
import { shuffled } from './ragged-batch.ts';

/** The bytes after a run, and its violations of the contract. */
export interface CaseRun {
  readonly outputs: ReadonlyMap<string, Uint8Array>;
  readonly states: ReadonlyMap<string, Uint8Array>;
  readonly violations: readonly string[];
}

/** How a weight arrives on the device: all rows at once, or in pieces in any order from any place in pinned memory. */
export type Packing = 'whole' | 'pieces';

const OUTPUT_MARK = 0x5a;
/** The maximum number of pieces per weight. */
const MAX_PIECES = 24;

/** The contents of an output's range before a run. */
export function poisonedOutput(byteLength: number): Uint8Array {
  return poison(new Uint8Array(byteLength), OUTPUT_MARK);
}

/** What happens while a case runs. */
export interface RunHooks {
  /** When all is there that the step needs. */
  readonly before?: () => Promise<void>;
  /** Between two runs of the step: the results are those of the second. */
  readonly between?: () => Promise<void>;
}

/** Runs a case's graph on a device, from compilation to download. Disposes everything. */
export async function runCase(
  device: Device,
  data: CaseData,
  packing: Packing = 'whole',
  { before, between }: RunHooks = {},
): Promise<CaseRun> {
  const program = await device.compile(data.graph);
  const memory = new CaseMemory(device, program, data);
  const stream = device.createStream('case');
  try {
    await memory.fill(stream, packing);
    const executable = memory.bind();
    using step = await device.record([executable], 'case');
    await before?.();
    stream.run(step);
    if (between) {
      await between();
      stream.run(step);
    }
    return await memory.collect(stream);
  } finally {
    await stream[Symbol.asyncDispose]();
    memory[Symbol.dispose]();
  }
}

/** Guarded memory for everything that a case binds. */
class CaseMemory implements Disposable {
  readonly #device: Device;
  readonly #program: Program;
  readonly #data: CaseData;
  readonly #values = new Map<Tensor | State, GuardedBuffer>();
  readonly #outputs = new Map<string, GuardedBuffer>();
  readonly #weights = new Map<PackedWeight, GuardedBuffer>();
  readonly #packed = new Map<PackedWeight, Uint8Array>();
  readonly #scratch: GuardedBuffer | undefined;

  constructor(device: Device, program: Program, data: CaseData) {
    this.#device = device;
    this.#program = program;
    this.#data = data;
    const guarded = (label: string, byteLength: number) => new GuardedBuffer(device, label, byteLength);
    for (const [value, bytes] of [...data.inputs, ...data.states]) {
      this.#values.set(value, guarded(value.name, bytes.byteLength));
    }
    for (const { name, tensor } of data.graph.outputs) {
      this.#outputs.set(name, guarded(name, tensorBytes(tensor, data.graph.shape)));
    }
    for (const weight of program.weights) {
      this.#weights.set(weight, guarded(weight.parts.map((p) => p.name).join('+'), weight.byteLength));
    }
    if (program.scratchBytes > 0) this.#scratch = guarded('scratch', program.scratchBytes);
  }

  async fill(stream: Stream, packing: Packing): Promise<void> {
    for (const [value, bytes] of [...this.#data.inputs, ...this.#data.states]) {
      this.#values.get(value)?.upload(stream, bytes);
    }
    for (const buffer of [...this.#outputs.values(), ...(this.#scratch ? [this.#scratch] : [])]) {
      buffer.upload(stream, poisonedOutput(buffer.range.byteLength));
    }
    for (const [weight, buffer] of this.#weights) {
      buffer.upload(stream, poisonedOutput(weight.byteLength));
      for (const part of weight.parts.keys()) await this.#pack(stream, weight, part, packing);
      this.#packed.set(weight, await buffer.download(stream, []));
    }
  }

  bind(): Executable {
    const rangesOf = <K>(buffers: ReadonlyMap<K, GuardedBuffer>): Map<K, BufferRange> =>
      new Map([...buffers].map(([key, buffer]) => [key, buffer.range]));
    return this.#program.bind({
      values: rangesOf(this.#values),
      outputs: rangesOf(this.#outputs),
      weights: rangesOf(this.#weights),
      scratch: this.#scratch?.range,
    });
  }

  async collect(stream: Stream): Promise<CaseRun> {
    const violations: string[] = [];
    const outputs = new Map<string, Uint8Array>();
    const states = new Map<string, Uint8Array>();
    for (const [name, buffer] of this.#outputs) {
      outputs.set(name, await buffer.download(stream, violations));
    }
    for (const [value, buffer] of this.#values) {
      const bytes = await buffer.download(stream, violations);
      if (value.kind === 'state') states.set(value.name, bytes);
      else if (!sameBytes(bytes, this.#data.inputs.get(value))) violations.push(`${value.name} was changed`);
    }
    for (const [weight, buffer] of this.#weights) {
      const bytes = await buffer.download(stream, violations);
      if (!sameBytes(bytes, this.#packed.get(weight))) violations.push(`weight ${buffer.label} was changed`);
    }
    await this.#scratch?.download(stream, violations);
    return { outputs, states, violations };
  }

  [Symbol.dispose](): void {
    const scratch = this.#scratch ? [this.#scratch] : [];
    for (const buffer of [
      ...this.#values.values(),
      ...this.#outputs.values(),
      ...this.#weights.values(),
      ...scratch,
    ]) {
      buffer[Symbol.dispose]();
    }
  }

  async #pack(stream: Stream, weight: PackedWeight, part: number, packing: Packing): Promise<void> {
    const of = weight.parts[part];
    const buffer = this.#weights.get(weight);
    const bytes = of && this.#data.weights.get(of);
    if (!of || !buffer || !bytes) throw new Error('a packed weight is made of weights of its graph');
    const step = packing === 'whole' ? of.rows : pieceRows(of.rows, weight.rowAlignment);
    const rowBytes = weightRowBytes(of);
    for (const piece of shuffled(Math.ceil(of.rows / step), seededRandom(of.rows))) {
      const firstRow = piece * step;
      const rowCount = Math.min(step, of.rows - firstRow);
      const offset = packing === 'whole' ? 0 : 2 + (piece % 3) * 8;
      using pinned = this.#device.createPinned(offset + rowCount * rowBytes, 'rows');
      pinned.bytes.set(bytes.subarray(firstRow * rowBytes, (firstRow + rowCount) * rowBytes), offset);
      stream.pack(weight, { part, firstRow, rowCount }, { pinned, offset }, buffer.range);
      await stream.synchronize();
    }
  }
}

/** The rows of a piece: few, and an odd multiple of the alignment. */
function pieceRows(rows: number, alignment: number): number {
  const units = Math.ceil(rows / alignment / MAX_PIECES);
  return Math.max(3, units + 1 - (units % 2)) * alignment;
}

function sameBytes(a: Uint8Array, b: Uint8Array | undefined): boolean {
  return b !== undefined && Buffer.compare(a, b) === 0;
}
