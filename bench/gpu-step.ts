/**
 * The cost of a step on a GPU: `node dist/bench/gpu-step.js [hip|cuda|webgpu] [shape] [format] [rows ...]`. For a model
 * of that shape with random weights, and for each batch of `rows` single tokens of as many sequences (or, with `p`
 * before the number, one sequence's prompt): the time of a whole step, and of each kind of launch, for all layers of a
 * step; on HIP and CUDA with the megabytes of weights that these launches name (of experts, all), and the terabytes a second
 * that this is. `llama-3-8b:16` is that shape with 16 layers, `llama-3-8b/2` what one of two ranks has of its heads and hidden layers; a
 * format may be a mix of `rocmforge quantize`, `Q4_K_M`, or one for the matrices and one for the output, `Q4_K+Q6_K`.
 */
import type { Device, Executable } from '../src/device/index.ts';
import { type Launch as HipCudaLaunch, moduleKey } from '../src/devices/hip-cuda/index.ts';
import { addressOf } from '../src/devices/hip-cuda/memory/hip-cuda-buffer.ts';
import type { Launch as WebGpuLaunch } from '../src/devices/webgpu/launching/launch.ts';
import { WebGpuDevice } from '../src/devices/webgpu/webgpu-device.ts';
import { formatNamed, Q4_0, type TensorFormat } from '../src/formats/index.ts';
import type { StepInputs } from '../src/plan/inputs/batch-inputs.ts';
import type { PersistentInputs } from '../src/plan/inputs/persistent-inputs.ts';
import { AsyncModelLoader } from '../src/load/async-model-loader.ts';
import { ExecutionPlan } from '../src/plan/execution-plan.ts';
import { KV_BLOCK_SIZE, tableName } from '../src/model/state-groups.ts';
import { syntheticShape } from '../src/model/synthetic/shapes.ts';
import type { SyntheticShape } from '../src/model/synthetic-family.ts';
import { openDevice } from '../src/node/devices.ts';
import { chooseFormats } from '../src/quantize/choose-formats.ts';
import { MIXES } from '../src/quantize/mixes.ts';
import { DEFAULT_SAMPLING, SAMPLING_ROW_WORDS, weightRowBytes, writeSamplingRow } from '../src/ops/index.ts';
import { syntheticGraphs, type SyntheticModel, syntheticModel } from '../tests/support/synthetic-graphs.ts';

/** Minimum duration of a measurement in milliseconds, so that its overhead does not matter. */
const MEASURED = 40;
const CHUNK_BYTES = 8 << 20;

interface Work {
  readonly rows: number;
  /** One sequence's prompt, or single tokens of `rows` sequences. */
  readonly prompt: boolean;
  /** Positions before the first row. */
  readonly past: number;
}

/** A workload with a cache of this many blocks. */
interface InputWork extends Work {
  readonly blocks: number;
}

/** Fills every weight from a few megabytes of random blocks. */
async function fillWeights(device: Device, plan: ExecutionPlan): Promise<void> {
  await using stream = device.createStream('weights');
  using pinned = device.createPinned(CHUNK_BYTES, 'random blocks');
  const formats = new Set(plan.weights.flatMap(({ packed }) => packed.parts.map((part) => part.format)));
  for (const format of formats) {
    format.fillRandom(pinned.bytes, Math.random, 0.02);
    for (const { packed, range } of plan.weights) {
      packed.parts.forEach((part, index) => {
        if (part.format !== format) return;
        const step = Math.max(1, Math.floor(CHUNK_BYTES / weightRowBytes(part)));
        for (let firstRow = 0; firstRow < part.rows; firstRow += step) {
          const rowCount = Math.min(step, part.rows - firstRow);
          stream.pack(packed, { part: index, firstRow, rowCount }, { pinned, offset: 0 }, range);
        }
      });
    }
    await stream.synchronize();
  }
}

function fillInputs(
  inputs: StepInputs,
  kept: PersistentInputs,
  { rows, prompt, past, blocks }: InputWork,
): void {
  const outputs = prompt ? 1 : rows;
  inputs.view('counts').set([rows, outputs]);
  for (let row = 0; row < rows; row++) {
    inputs.view('ids')[row] = 100 + row;
    inputs.view('positions')[row] = prompt ? past + row : past;
    inputs.view('slots')[row] = prompt ? 0 : row;
  }
  for (let output = 0; output < outputs; output++) {
    inputs.view('output_rows')[output] = prompt ? rows - 1 : output;
    const row = new Int32Array(SAMPLING_ROW_WORDS);
    writeSamplingRow({ ...DEFAULT_SAMPLING, temperature: 0 }, row);
    kept.write('parameters', output * row.length, row);
  }
  kept.write(
    tableName(0),
    0,
    Int32Array.from({ length: blocks }, (_, i) => i),
  );
}

/** Milliseconds of one run: the median of several measurements of several runs each. */
async function timed(
  device: Device,
  run: (stream: ReturnType<Device['createStream']>) => void,
): Promise<number> {
  await using stream = device.createStream('bench');
  const several = async (repetitions: number) => {
    const start = performance.now();
    for (let i = 0; i < repetitions; i++) run(stream);
    await stream.synchronize();
    return (performance.now() - start) / repetitions;
  };
  await several(2);
  const repetitions = Math.ceil(MEASURED / (await several(2)));
  const times: number[] = [];
  for (let round = 0; round < 5; round++) times.push(await several(repetitions));
  return times.sort((a, b) => a - b)[2] ?? Number.NaN;
}

type Launch = HipCudaLaunch | WebGpuLaunch;

/** A key that equal launches share. */
function kindOf(launch: Launch): string {
  if (!('kind' in launch)) {
    const { name, constants } = launch.module;
    return `${name} ${JSON.stringify(Object.values(constants)).replaceAll(/[^-\w.,]/g, '')} ${launch.grid}`;
  }
  return launch.kind === 'kernel'
    ? `${launch.kernel} ${moduleKey(launch.module)} ${launch.grid}`
    : launch.kind;
}

/** Launches collected while the plan is bound, so that those of a kind can be timed together. */
class Recorded {
  readonly launches: (readonly Launch[])[] = [];

  constructor(readonly rows: number) {}

  /** The device, with its programs' recordings observed, and limited to one capacity. */
  watching(device: Device): Device {
    return new Proxy(device, {
      get: (target, key) => {
        if (key === 'rowCapacities') return () => [this.rows];
        const value: unknown = Reflect.get(target, key, target);
        if (key !== 'record') return typeof value === 'function' ? value.bind(target) : value;
        return (executables: readonly (Executable & { launches: readonly Launch[] })[], label: string) => {
          this.launches.splice(0, this.launches.length, ...executables.map(({ launches }) => launches));
          return target.record(executables, label);
        };
      },
    });
  }

  /** The launches by kind, in order of first appearance. */
  kinds(): Map<string, Launch[]> {
    const kinds = new Map<string, Launch[]>();
    for (const launches of this.launches) {
      for (const launch of launches) {
        const key = kindOf(launch);
        kinds.set(key, [...(kinds.get(key) ?? []), launch]);
      }
    }
    return kinds;
  }
}

/** Compiles a model for a workload; its cache has `blocks` blocks. */
async function compiledPlan(
  device: Device,
  { model, work }: { model: SyntheticModel; work: Work },
): Promise<{ plan: ExecutionPlan; blocks: number; outputs: number }> {
  const slots = work.prompt ? 1 : work.rows;
  const blocksPerSlot = Math.ceil((work.past + (work.prompt ? work.rows : 1) + 64) / KV_BLOCK_SIZE);
  const [blocks, context] = [slots * blocksPerSlot, blocksPerSlot * KV_BLOCK_SIZE];
  const outputs = work.prompt ? 1 : work.rows;
  const groups = model.config.state.map((group) => ({ ...group, blocks }));
  const cache = { blocks, cacheType: 'f16', context, tokens: outputs, alternatives: 0 } as const;
  const plan = await ExecutionPlan.compile({
    device,
    tensors: model.tensors,
    shape: { rows: work.rows, outputs, slots, blocksPerSlot },
    inFlight: 1,
    context,
    state: { groups, slots, context, checkpoints: false },
    record: (of) => syntheticGraphs(model, { shape: of, ...cache }),
  });
  return { plan, blocks, outputs };
}

async function measure(device: Device, model: SyntheticModel, work: Work): Promise<void> {
  const recorded = new Recorded(work.rows);
  const started = performance.now();
  const planned = await compiledPlan(recorded.watching(device), { model, work });
  const { blocks, outputs } = planned;
  await using plan = planned.plan;
  const compiled = performance.now();
  await using loader = new AsyncModelLoader(device);
  await plan.allocate(plan.fit(), loader);
  await fillWeights(device, plan);
  const batch = plan.planFor(work.rows, outputs);
  await batch.prepare('generate');
  const inputs = batch.input(0);
  fillInputs(inputs, plan.kept, { ...work, blocks });
  const milliseconds = await timed(device, (stream) => {
    batch.upload(stream, inputs);
    batch.run(stream, 'generate');
  });
  const name = work.prompt ? `pp${work.rows}` : `${work.rows} x tg at ${work.past}`;
  const perSecond = (1000 * work.rows) / milliseconds;
  console.log(
    `${name}: ${milliseconds.toFixed(3)} ms, ${perSecond.toFixed(0)} tok/s (compiled in ${(compiled - started).toFixed(0)} ms)`,
  );
  const bytesOf = weightBytes(plan);
  const total = { microseconds: 0, launches: 0, bytes: 0 };
  for (const [kind, launches] of recorded.kinds()) {
    const executable = executableOf(kind, launches);
    using step = await device.record([executable], kind);
    const microseconds = 1000 * (await timed(device, (stream) => stream.run(step)));
    const bytes = launches.reduce((sum, launch) => sum + bytesOf(launch), 0);
    total.microseconds += microseconds;
    total.launches += launches.length;
    total.bytes += bytes;
    const each = (microseconds / launches.length).toFixed(2);
    const time = `${microseconds.toFixed(1).padStart(8)} us = ${launches.length} x ${each}`;
    console.log(`  ${time}  ${rateText(bytes, microseconds)}${kind}`);
  }
  const parts = `${total.launches} launches, ${total.microseconds.toFixed(0)} us one kind after another`;
  console.log(`  ${parts}; the step: ${rateText(total.bytes, 1000 * milliseconds)}`);
  if (device instanceof WebGpuDevice) await printInPlace(device, recorded);
}

/** Megabytes and terabytes a second, or nothing. */
function rateText(bytes: number, microseconds: number): string {
  if (bytes === 0) return '';
  return `${(bytes / 1e6).toFixed(1)} MB, ${(bytes / microseconds / 1e6).toFixed(2)} TB/s  `;
}

/** The bytes of all weights that a launch names; of the embeddings it reads only rows. */
function weightBytes(plan: ExecutionPlan): (launch: Launch) => number {
  return (launch) => {
    if (!('kind' in launch) || launch.kind === 'fill' || launch.kind === 'copy') return 0;
    if (launch.kind === 'kernel' && launch.kernel === 'embed') return 0;
    const named = launch.kind === 'kernel' ? launch.args.map(({ value }) => value) : [launch.w];
    const read = plan.weights.filter(({ range }) => named.includes(addressOf(range)));
    return read.reduce((sum, { packed }) => sum + packed.byteLength, 0);
  };
}

/** An executable of launches recorded by a plan, which keeps their memory. */
function executableOf(name: string, launches: readonly Launch[]): Executable {
  return { program: { graph: { name } }, buffers: new Set(), launches } as unknown as Executable;
}

/** The duration of each dispatch within a step, according to the GPU's own clock. */
async function printInPlace(device: WebGpuDevice, { launches }: Recorded): Promise<void> {
  const executables = launches.map((of) => executableOf('all', of));
  using step = await device.record(executables, 'in place');
  const sums = new Map<string, { count: number; nanoseconds: number }>();
  await device.timeDispatches(step);
  for (const { name, grid, nanoseconds } of (await device.timeDispatches(step)) ?? []) {
    const sum = sums.get(`${name} ${grid}`) ?? { count: 0, nanoseconds: 0 };
    sums.set(`${name} ${grid}`, { count: sum.count + 1, nanoseconds: sum.nanoseconds + nanoseconds });
  }
  for (const [kind, { count, nanoseconds }] of sums) {
    const each = nanoseconds / count / 1000;
    console.log(
      `  ${(nanoseconds / 1000).toFixed(1).padStart(8)} us = ${count} x ${each.toFixed(2)} in place  ${kind}`,
    );
  }
}

/** A shape by its name, with another number of layers behind a colon, and a rank's share of it behind a slash. */
function shapeCalled(name: string): SyntheticShape {
  const [, known = '', layers, ranks = '1'] = /^([^:/]+)(?::(\d+))?(?:\/(\d+))?$/.exec(name) ?? [];
  const shape = syntheticShape(known, layers === undefined ? {} : { layers: Number(layers) });
  const share = (of: number) => Math.max(1, of / Number(ranks));
  const { width, heads, headSize = width / heads, kvHeads, hidden } = shape;
  return { ...shape, headSize, heads: share(heads), kvHeads: share(kvHeads), hidden: share(hidden) };
}

/** A model of a shape in a format, a mix, or a format with another of the output. */
async function modelOf(shape: SyntheticShape, formats: string): Promise<SyntheticModel> {
  const mix = MIXES.find(({ name }) => name === formats);
  const [matrices, output] = (mix?.format ?? formats).split('+').map(formatCalled);
  const model = await syntheticModel(shape, matrices as TensorFormat);
  const all = [...model.tensors.values()];
  const mixed =
    mix && chooseFormats({ metadata: model.metadata, tensors: all }, { mix, hasImportance: false });
  const tensors = all.map((tensor) => {
    const other = tensor.name === 'output.weight' ? output : undefined;
    const format = mixed?.get(tensor.name) ?? other ?? tensor.format;
    const byteLength = (tensor.elementCount / format.blockElements) * format.blockBytes;
    return { ...tensor, format, byteLength };
  });
  return { ...model, tensors: new Map(tensors.map((tensor) => [tensor.name, tensor])) };
}

function formatCalled(name: string): TensorFormat {
  const format = formatNamed(name);
  if (!format) throw new Error(`no format or mix is called ${name}`);
  return format;
}

const [driver = 'cuda', shapeName = 'llama-2-7b', formatName = Q4_0.name, ...batches] = process.argv.slice(2);
const model = await modelOf(shapeCalled(shapeName), formatName);
const device = await openDevice({ device: driver });
console.log(device.info.name, device.info.details);
for (const batch of batches.length > 0 ? batches : ['1']) {
  const prompt = batch.startsWith('p');
  const rows = Number(prompt ? batch.slice(1) : batch);
  const past = prompt ? 0 : rows === 1 ? 64 : 192;
  await measure(device, model, { rows, prompt, past });
}
await device[Symbol.asyncDispose]();
