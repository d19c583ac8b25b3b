import { asBytes } from '../../../src/base/bytes.ts';
import {
  type Bindings,
  type BufferRange,
  type Device,
  type DeviceBuffer,
  type Step,
  wholeOf,
} from '../../../src/device/index.ts';
import { GraphBuilder, mul, scale, unary } from '../../../src/ops/index.ts';

const WIDTH = 3;

/**
 * y = max(0, (2 x)^2) on a device: three kernels from two files, scratch in between, one step. Nothing is fused,
 * because values that are read twice or returned must be in memory.
 */
export class Polynomial implements Disposable {
  readonly #device: Device;
  readonly #buffers: readonly DeviceBuffer[];
  readonly #step: Step;
  readonly #x: BufferRange;
  readonly #y: BufferRange;

  private constructor(
    device: Device,
    of: { buffers: DeviceBuffer[]; step: Step; x: BufferRange; y: BufferRange },
  ) {
    this.#device = device;
    this.#buffers = of.buffers;
    this.#step = of.step;
    this.#x = of.x;
    this.#y = of.y;
  }

  /** Uses buffers of `byteLength` each. Leaves nothing behind when it rejects. */
  static async on(device: Device, byteLength = 256): Promise<Polynomial> {
    const g = new GraphBuilder('polynomial', { rows: 1, outputs: 1, slots: 1, blocksPerSlot: 1 });
    const x = g.input('x', { axis: 'rows', width: WIDTH });
    const doubled = scale(g, x, 2);
    const squared = mul(g, doubled, doubled);
    g.output('squared', squared);
    g.output('y', unary(g, 'relu', squared));
    const program = await device.compile(g.finish());
    const buffers: DeviceBuffer[] = [];
    const range = (wanted = 0): BufferRange => {
      const buffer = device.createBuffer(Math.max(byteLength, wanted), 'polynomial');
      buffers.push(buffer);
      return wholeOf(buffer);
    };
    try {
      const y = range();
      const values = new Map(program.graph.inputs.map((tensor) => [tensor, range()]));
      const bindings: Bindings = {
        values,
        outputs: new Map([
          ['squared', range()],
          ['y', y],
        ]),
        weights: new Map(),
        scratch: range(program.scratchBytes),
      };
      const step = await device.record([program.bind(bindings)], 'polynomial');
      const own = new Polynomial(device, { buffers, step, x: values.get(x) as BufferRange, y });
      await own.#upload(values.get(g.batch.counts) as BufferRange);
      return own;
    } catch (error) {
      for (const buffer of buffers) buffer[Symbol.dispose]();
      throw error;
    }
  }

  async compute(x: readonly number[]): Promise<number[]> {
    await using stream = this.#device.createStream('polynomial');
    stream.upload(asBytes(Float32Array.from(x)), this.#x);
    stream.run(this.#step);
    const result = new Float32Array(WIDTH);
    await stream.download(this.#y, asBytes(result));
    return [...result];
  }

  /** Computes on freed memory, which loses the device if buffers are large enough to be unmapped. */
  fault(): void {
    for (const buffer of this.#buffers) buffer[Symbol.dispose]();
    const stream = this.#device.createStream('fault');
    stream.run(this.#step);
    const event = stream.record();
    try {
      while (!event.query());
    } catch {
      // The event reports the loss of the device.
    }
  }

  async #upload(counts: BufferRange): Promise<void> {
    await using stream = this.#device.createStream('counts');
    stream.upload(asBytes(Int32Array.of(1, 0)), counts);
    await stream.synchronize();
  }

  [Symbol.dispose](): void {
    this.#step[Symbol.dispose]();
    for (const buffer of this.#buffers) buffer[Symbol.dispose]();
  }
}
