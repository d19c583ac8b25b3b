// The cost of a step on the CPU device: of an empty one, and of the layers of a 1.1B-shaped Llama in Q4_0 with random
// weights. node dist/bench/cpu-step.js [threads] [layers]
import { asBytes } from '../src/base/bytes.ts';
import {
  type BufferRange,
  type Device,
  type DeviceBuffer,
  type PackedWeight,
  type Program,
  type Stream,
  wholeOf,
} from '../src/device/index.ts';
import { F32, Q4_0 } from '../src/formats/index.ts';
import { openCpu } from '../src/node/open-cpu.ts';
import {
  add,
  attention,
  type BatchShape,
  GraphBuilder,
  gated,
  kvAppend,
  matmul,
  type OpGraph,
  rmsNorm,
  rope,
  ropeTable,
  type State,
  stateBytes,
  type Tensor,
  tensorBytes,
  type Weight,
  weightRowBytes,
} from '../src/ops/index.ts';

const SHAPE: BatchShape = { rows: 512, outputs: 1, slots: 1, blocksPerSlot: 64 };
const BLOCK = 32;
const WIDTH = 2048;
const HIDDEN = 5632;
const HEADS = { heads: 32, kvHeads: 4, keySize: 64, valueSize: 64 } as const;
const KV = HEADS.kvHeads * HEADS.keySize;

/** One layer, `x` to `y`. */
function layer(): OpGraph {
  const g = new GraphBuilder('layer', SHAPE);
  const weight = (name: string, rows: number, columns = WIDTH) => g.weight(name, Q4_0, rows, columns);
  const norm = (x: Tensor, name: string) => rmsNorm(g, x, g.weight(name, F32, 1, WIDTH), 1e-5);
  const x = g.input('x', { axis: 'rows', width: WIDTH });
  const table = ropeTable(g, { dimensions: 64, base: 10_000, scaling: { kind: 'none' } });
  const turn = (heads: Tensor) => rope(g, heads, { table, headSize: 64, pairs: 'interleaved' });
  const cells = SHAPE.blocksPerSlot * BLOCK;
  const cache = {
    keys: g.state('keys', 'f16', cells, KV),
    values: g.state('values', 'f16', cells, KV),
    blocks: g.batch.blocks,
    blockSize: BLOCK,
  };
  const normed = norm(x, 'attn_norm');
  const q = matmul(g, normed, weight('q', WIDTH));
  const k = matmul(g, normed, weight('k', KV));
  const v = matmul(g, normed, weight('v', KV));
  kvAppend(g, cache, turn(k), v);
  const options = { ...HEADS, scale: 1 / 8, window: undefined, softCap: undefined };
  const h = add(g, x, matmul(g, attention(g, turn(q), cache, options), weight('o', WIDTH)));
  const wide = norm(h, 'ffn_norm');
  const act = gated(
    g,
    'silu',
    matmul(g, wide, weight('gate', HIDDEN)),
    matmul(g, wide, weight('up', HIDDEN)),
  );
  g.output('y', add(g, h, matmul(g, act, weight('down', WIDTH, HIDDEN))));
  return g.finish();
}

/** Layers that share everything but their weights and caches. */
class Bench {
  readonly #buffers: DeviceBuffer[] = [];
  readonly #inputs = new Map<Tensor, BufferRange>();

  constructor(
    readonly device: Device,
    readonly stream: Stream,
  ) {}

  buffer(byteLength: number, label: string): BufferRange {
    const buffer = this.device.createBuffer(byteLength, label);
    this.#buffers.push(buffer);
    return wholeOf(buffer);
  }

  input(tensor: Tensor): BufferRange {
    const known = this.#inputs.get(tensor) ?? this.buffer(tensorBytes(tensor, SHAPE), tensor.name);
    this.#inputs.set(tensor, known);
    return known;
  }

  async write(tensor: Tensor, data: ArrayBufferView): Promise<void> {
    this.stream.upload(asBytes(data), this.input(tensor));
    await this.stream.synchronize();
  }

  /** Random weights; all layers have the same values, in separate memory. */
  async weights(program: Program): Promise<Map<PackedWeight, BufferRange>> {
    const ranges = new Map<PackedWeight, BufferRange>();
    for (const packed of program.weights) {
      const range = this.buffer(packed.byteLength, packed.layout);
      const weight = packed.parts[0] as Weight;
      const rowBytes = weightRowBytes(weight);
      using pinned = this.device.createPinned(weight.rows * rowBytes, 'file');
      weight.format.fillRandom(pinned.bytes, Math.random, 0.02);
      const rows = { part: 0, firstRow: 0, rowCount: weight.rows };
      this.stream.pack(packed, rows, { pinned, offset: 0 }, range);
      await this.stream.synchronize();
      ranges.set(packed, range);
    }
    return ranges;
  }

  async bind(program: Program, ends: { x: BufferRange; y: BufferRange; scratch: BufferRange }) {
    const { graph } = program;
    const values = new Map<Tensor | State, BufferRange>();
    for (const tensor of graph.inputs) values.set(tensor, tensor.name === 'x' ? ends.x : this.input(tensor));
    for (const state of graph.states) values.set(state, this.buffer(stateBytes(state), state.name));
    const { y, scratch } = ends;
    return program.bind({
      values,
      outputs: new Map([['y', y]]),
      weights: await this.weights(program),
      scratch,
    });
  }
}

/** The fastest of several calls in milliseconds, and the minimum CPU time of all threads for one. */
async function best(times: number, run: () => Promise<void>): Promise<{ ms: number; cpu: number }> {
  let ms = Number.POSITIVE_INFINITY;
  let cpu = Number.POSITIVE_INFINITY;
  for (let i = 0; i < times; i++) {
    const used = process.cpuUsage();
    const begin = performance.now();
    await run();
    ms = Math.min(ms, performance.now() - begin);
    const { user, system } = process.cpuUsage(used);
    cpu = Math.min(cpu, (user + system) / 1000);
  }
  return { ms, cpu };
}

async function emptySteps(device: Device, stream: Stream): Promise<void> {
  using step = await device.record([], 'empty');
  const once = await best(500, () => {
    stream.run(step);
    return stream.synchronize();
  });
  const many = await best(20, () => {
    for (let i = 0; i < 200; i++) stream.run(step);
    return stream.synchronize();
  });
  console.log(
    `empty step: ${(1000 * once.ms).toFixed(0)} us there and back, ${(5 * many.ms).toFixed(1)} us queued`,
  );
}

async function layers(device: Device, stream: Stream, count: number): Promise<void> {
  const program = await device.compile(layer());
  const bench = new Bench(device, stream);
  const scratch = bench.buffer(program.scratchBytes, 'scratch');
  const x = [0, 1].map((i) => bench.buffer(SHAPE.rows * WIDTH * 4, `x ${i}`)) as [BufferRange, BufferRange];
  const executables = [];
  for (let i = 0; i < count; i++) {
    const [from, to] = i % 2 === 0 ? x : [x[1], x[0]];
    executables.push(await bench.bind(program, { x: from, y: to, scratch }));
  }
  using step = await device.record(executables, 'layers');
  const { batch } = program.graph;
  const weights = program.weights.reduce(
    (sum, { parts }) => sum + (parts[0]?.rows ?? 0) * (parts[0]?.columns ?? 0),
    0,
  );
  await bench.write(
    batch.blocks,
    Int32Array.from({ length: SHAPE.blocksPerSlot }, (_, i) => i),
  );
  for (const rows of [1, 2, 4, 8, 32, 128, 512]) {
    await bench.write(batch.counts, Int32Array.of(rows, 0));
    await bench.write(
      batch.positions,
      Int32Array.from({ length: rows }, (_, i) => i),
    );
    stream.upload(
      asBytes(Float32Array.from({ length: SHAPE.rows * WIDTH }, () => Math.random() - 0.5)),
      x[0],
    );
    await stream.synchronize();
    const { ms, cpu } = await best(rows < 100 ? 8 : 3, () => {
      stream.run(step);
      return stream.synchronize();
    });
    const perSecond = ((1000 * rows * count) / 22 / ms).toFixed(1);
    const products = ((rows * weights * count) / ms / 1e6).toFixed(1);
    console.log(
      `${count} layers, ${rows} rows: ${ms.toFixed(2)} ms (processor ${cpu.toFixed(2)} ms), ` +
        `${perSecond} rows/s of 22 layers, ${products} G products/s`,
    );
  }
}

const threads = process.argv[2] ? Number(process.argv[2]) : undefined;
await using device = await openCpu({ threads });
await device.settle?.();
console.log(device.info);
await using stream = device.createStream('bench');
await emptySteps(device, stream);
await layers(device, stream, Number(process.argv[3] ?? 22));
