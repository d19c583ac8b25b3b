/**
 * Sums of tensors over the GPUs of this machine: `node dist/bench/all-reduce.js [hip|cuda] [GPUs]`. For tensors of 16 KiB to 16 MiB, the
 * time of one sum within a step of 160 on all GPUs, and the ratio to a kernel on one GPU that reads and writes as many bytes (`scale`),
 * measured in the same way. Checks every result. Prints what connects the GPUs.
 */
import { asBytes } from '../src/base/bytes.ts';
import { type BufferRange, type Executable, type Step, type Stream, wholeOf } from '../src/device/index.ts';
import type { HipCudaDevice } from '../src/devices/hip-cuda/index.ts';
import { reportHipCudaDevices } from '../src/node/hip-cuda-devices.ts';
import { openHipCuda } from '../src/node/open-hip-cuda.ts';
import { allReduce, GraphBuilder, type OpGraph, scale, type Tensor, tensorBytes } from '../src/ops/index.ts';

/** As many sums as a step of Llama-2-70B has. */
const CHAIN = 160;
const REPEATS = 6;
const SIZES = [16, 32, 128, 512, 1024, 2048, 4096, 16384].map((kibibytes) => kibibytes << 10);

/** One rank's step: an operator on a tensor full of `value`, as often as `CHAIN`. */
class Chain implements AsyncDisposable {
  readonly #buffers = new Set<Disposable>();
  readonly result: BufferRange;

  private constructor(
    readonly stream: Stream,
    readonly step: Step,
    of: { buffers: readonly Disposable[]; result: BufferRange },
  ) {
    for (const buffer of of.buffers) this.#buffers.add(buffer);
    this.result = of.result;
  }

  static async on(device: HipCudaDevice, graph: OpGraph, value: number): Promise<Chain> {
    const program = await device.compile(graph);
    const stream = device.createStream('chain');
    const bufferFor = (tensor: Tensor) =>
      wholeOf(device.createBuffer(tensorBytes(tensor, graph.shape), tensor.name));
    const values = new Map(graph.inputs.map((tensor) => [tensor, bufferFor(tensor)]));
    for (const [{ name, type }, range] of values) {
      const numbers = new (type === 'i32' ? Int32Array : Float32Array)(range.byteLength / 4);
      stream.upload(asBytes(numbers.fill(name === 'x' ? value : 1)), range);
    }
    const [output] = graph.outputs as readonly [{ name: string; tensor: Tensor }];
    const result = bufferFor(output.tensor);
    const scratch = wholeOf(device.createBuffer(Math.max(1, program.scratchBytes), 'scratch'));
    const outputs = new Map([[output.name, result]]);
    const executable: Executable = program.bind({ values, outputs, weights: new Map(), scratch });
    await stream.synchronize();
    const step = await device.record(
      Array.from({ length: CHAIN }, () => executable),
      'chain',
    );
    const buffers = [...values.values(), result, scratch].map(({ buffer }) => buffer);
    return new Chain(stream, step, { buffers, result });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stream[Symbol.asyncDispose]();
    this.step[Symbol.dispose]();
    for (const buffer of this.#buffers) buffer[Symbol.dispose]();
  }
}

/** One operator on one row of that many bytes. */
function graphOf(bytes: number, one: (g: GraphBuilder, x: Tensor) => Tensor): OpGraph {
  const g = new GraphBuilder('chain', { rows: 1, outputs: 1, slots: 1, blocksPerSlot: 1 });
  g.output('y', one(g, g.input('x', { axis: 'rows', width: bytes / 4 })));
  return g.finish();
}

/** Microseconds an operator, the least of several runs, on the GPU that took longest. */
async function measure(chains: readonly Chain[]): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    const starts = chains.map(({ stream }) => stream.record());
    for (const { stream, step } of chains) stream.run(step);
    const ends = chains.map(({ stream }) => stream.record());
    await Promise.all(ends.map((end) => end.completed()));
    const times = ends.map((end, rank) => end.elapsedSince(starts[rank] ?? end));
    best = Math.min(best, Math.max(...times));
  }
  return (1000 * best) / CHAIN;
}

async function firstResult({ stream, result }: Chain): Promise<number> {
  const numbers = new Float32Array(result.byteLength / 4);
  await stream.download(result, asBytes(numbers));
  return numbers.every((number) => number === numbers[0]) ? (numbers[0] ?? Number.NaN) : Number.NaN;
}

const [driver = 'cuda', wanted] = process.argv.slice(2);
if (driver !== 'hip' && driver !== 'cuda') throw new Error(`hip or cuda, not ${driver}`);
const reports = await reportHipCudaDevices(driver);
for (const { device, name, details, error } of reports) {
  process.stdout.write(`${device}: ${error ?? `${name}; ${details?.peers ?? 'no other GPU'}`}\n`);
}
const count = wanted === undefined ? reports.length : Number(wanted);
const devices: HipCudaDevice[] = [];
for (let index = 0; index < count; index++) devices.push(await openHipCuda({ driver, index }));
const [first] = devices;
const link = await first?.linkPeers(devices);
if (!first || !link) throw new Error('two or more GPUs of a kind with peer access are needed');

async function disposeAll(chains: readonly AsyncDisposable[]): Promise<void> {
  for (const chain of chains) await chain[Symbol.asyncDispose]();
}

for (const bytes of SIZES) {
  const graph = graphOf(bytes, allReduce);
  const chains: Chain[] = [];
  for (const [index, device] of devices.entries()) {
    chains.push(await Chain.on(device, { ...graph, rank: { index, count } }, index + 1));
  }
  const sum = await measure(chains);
  const results = await Promise.all(chains.map(firstResult));
  await disposeAll(chains);
  const expected = (count * (count + 1)) / 2;
  if (results.some((result) => result !== expected)) {
    throw new Error(`${results.join(', ')} instead of ${expected}`);
  }

  const copies = [
    await Chain.on(
      first,
      graphOf(bytes, (g, x) => scale(g, x, 1)),
      1,
    ),
  ];
  const alone = await measure(copies);
  await disposeAll(copies);
  process.stdout.write(
    `${bytes >> 10} KiB: ${sum.toFixed(2)} us a sum over ${count}, ${alone.toFixed(2)} us to read and write on one: ` +
      `${(sum / alone).toFixed(2)} times as long\n`,
  );
}
await link[Symbol.asyncDispose]();
for (const device of devices) await device[Symbol.asyncDispose]();
