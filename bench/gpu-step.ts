/**
 * The cost of a step on a GPU: `node dist/bench/gpu-step.js [hip|cuda|webgpu] [shape] [format] [rows ...] [--gpus N]
 * [--dequantized]`. For a model of that shape with random weights, and for each batch of `rows` single tokens of as many sequences (or, with `p`
 * before the number, one sequence's prompt; `1@8192` is one token behind 8 192 others): the time of a whole step, and of
 * each kind of launch, for all layers of a step; on HIP and CUDA with the megabytes of weights that these launches name (of experts, all), and the terabytes a second
 * that this is. `llama-3-8b:16` is that shape with 16 layers, `llama-3-8b/2` what one of two ranks has of its heads and hidden layers; a
 * format may be a mix of `rocmforge quantize`, `Q4_K_M`, or one for the matrices and one for the output, `Q4_K+Q6_K`. With `--gpus`, of a
 * model split over so many GPUs of HIP or CUDA, which run a kind of launch at the same time: then, where a step's time goes.
 */
import { parseArgs } from 'node:util';
import type { Device, Executable, Step, Stream } from '../src/device/index.ts';
import { type Launch as HipCudaLaunch, moduleKey } from '../src/devices/hip-cuda/index.ts';
import { addressOf } from '../src/devices/hip-cuda/memory/hip-cuda-buffer.ts';
import type { Launch as WebGpuLaunch } from '../src/devices/webgpu/launching/launch.ts';
import { DeviceGroup } from '../src/devices/group/index.ts';
import { onRank } from '../src/devices/group/group-memory.ts';
import type { GroupWeight } from '../src/devices/group/group-weight.ts';
import { WebGpuDevice } from '../src/devices/webgpu/webgpu-device.ts';
import { formatNamed, Q4_0, type TensorFormat } from '../src/formats/index.ts';
import type { StepInputs } from '../src/plan/inputs/batch-inputs.ts';
import type { PersistentInputs } from '../src/plan/inputs/persistent-inputs.ts';
import { AsyncModelLoader } from '../src/load/async-model-loader.ts';
import { ExecutionPlan } from '../src/plan/execution-plan.ts';
import { splitModel } from '../src/plan/ranks/split-model.ts';
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
/** Launches in a row that show how long one takes. */
const REPEATED = 64;

interface Work {
  readonly rows: number;
  /** One sequence's prompt, or single tokens of `rows` sequences. */
  readonly prompt: boolean;
  /** Positions before the first row. */
  readonly past: number;
  /** Whether weights have dequantized copies. */
  readonly dequantized: boolean;
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
  inputs.clearSlotRows();
  for (let row = 0; row < rows; row++) {
    inputs.view('ids')[row] = 100 + row;
    inputs.view('positions')[row] = prompt ? past + row : past;
    inputs.view('slots')[row] = prompt ? 0 : row;
    inputs.addSlotRows(prompt ? 0 : row, row, 1);
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

/** Milliseconds of one run: the median of several measurements of several runs each, on streams of all devices. */
async function timed(devices: readonly Device[], run: (streams: readonly Stream[]) => void): Promise<number> {
  const streams = devices.map((device) => device.createStream('bench'));
  const several = async (repetitions: number) => {
    const start = performance.now();
    for (let i = 0; i < repetitions; i++) run(streams);
    await Promise.all(streams.map((stream) => stream.synchronize()));
    return (performance.now() - start) / repetitions;
  };
  await several(2);
  const repetitions = Math.ceil(MEASURED / (await several(2)));
  const times: number[] = [];
  for (let round = 0; round < 5; round++) times.push(await several(repetitions));
  for (const stream of streams) await stream[Symbol.asyncDispose]();
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

/** Whether a launch adds up what the product before it has sent. */
function addsPushed(launch: Launch): boolean {
  return 'kind' in launch && launch.kind === 'kernel' && launch.kernel === 'add_pushed';
}

/** Whether a launch waits for the other ranks of a group. */
function isMeeting(launch: Launch): boolean {
  return 'kind' in launch && launch.kind === 'kernel' && /^all_|^add_pushed$/.test(launch.kernel);
}

/** Launches collected while the plan is bound, so that those of a kind can be timed together. */
class Recorded {
  readonly launches: (readonly Launch[])[] = [];

  /** The capacity that the device is limited to. */
  rows = 1;

  /** The device, with its programs' recordings observed, and limited to one capacity. */
  watching(device: Device): Device {
    return new Proxy(device, {
      get: (target, key) => {
        if (key === 'rowCapacities') return () => [this.rows];
        if (key === 'linkPeers')
          return async (ranks: readonly Device[]) => target.linkPeers?.(ranks.map(unwatched));
        if (key === WATCHED) return target;
        const value: unknown = Reflect.get(target, key, target);
        if (key !== 'record') return typeof value === 'function' ? value.bind(target) : value;
        return (executables: readonly (Executable & { launches: readonly Launch[] })[], label: string) => {
          this.launches.splice(0, this.launches.length, ...executables.map(({ launches }) => launches));
          return target.record(executables, label);
        };
      },
    });
  }

  /** All launches, in order. */
  get all(): readonly Launch[] {
    return this.launches.flat();
  }
}

const WATCHED = Symbol('watched');

/** The device behind a watched one. */
function unwatched(device: Device): Device {
  return (device as Device & { [WATCHED]?: Device })[WATCHED] ?? device;
}

/** A GPU that runs the whole step or a rank's part of it. */
interface Card {
  readonly device: Device;
  readonly recorded: Recorded;
}

/**
 * The places of launches by kind, in order of first appearance, which are the same on all ranks. What adds up sums that the product
 * before it has sent is of one kind with that: without it, it would wait in vain.
 */
function kindsOf(launches: readonly Launch[]): Map<string, number[]> {
  const kinds = new Map<string, number[]>();
  for (const [place, launch] of launches.entries()) {
    const next = launches[place + 1];
    const isPushed = next !== undefined && addsPushed(next);
    if (addsPushed(launch)) continue;
    const key = isPushed ? `${kindOf(launch)} + ${kindOf(next)}` : kindOf(launch);
    kinds.set(key, [...(kinds.get(key) ?? []), ...(isPushed ? [place, place + 1] : [place])]);
  }
  return kinds;
}

/** Microseconds that launches at some places take on all cards at once. */
async function timedLaunches(cards: readonly Card[], places: readonly number[]): Promise<number> {
  const steps: Step[] = [];
  for (const { device, recorded } of cards) {
    const { all } = recorded;
    const executable = executableOf(
      'kind',
      places.map((place) => all[place] as Launch),
    );
    steps.push(await device.record([executable], 'kind'));
  }
  const milliseconds = await timed(
    cards.map(({ device }) => device),
    (streams) => {
      for (const [rank, stream] of streams.entries()) stream.run(steps[rank] as Step);
    },
  );
  for (const step of steps) step[Symbol.dispose]();
  return 1000 * milliseconds;
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
    record: (of) => {
      const graphs = syntheticGraphs(model, { shape: of, ...cache, dequantized: work.dequantized });
      return device.group ? splitModel(graphs, device.group) : graphs;
    },
  });
  return { plan, blocks, outputs };
}

/** Measures a workload on a device that records the launches of each card. */
async function measure(
  device: Device,
  cards: readonly Card[],
  { model, work }: { model: SyntheticModel; work: Work },
): Promise<void> {
  for (const { recorded } of cards) recorded.rows = work.rows;
  const started = performance.now();
  const planned = await compiledPlan(device, { model, work });
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
  const milliseconds = await timed([device], ([stream]) => {
    batch.upload(stream as Stream, inputs);
    batch.run(stream as Stream, 'generate');
  });
  const name = work.prompt ? `pp${work.rows}` : `${work.rows} x tg at ${work.past}`;
  const perSecond = (1000 * work.rows) / milliseconds;
  console.log(
    `${name}: ${milliseconds.toFixed(3)} ms, ${perSecond.toFixed(0)} tok/s (compiled in ${(compiled - started).toFixed(0)} ms)`,
  );
  const total = await printKinds(cards, plan);
  const parts = `${total.launches} launches, ${total.microseconds.toFixed(0)} us one kind after another`;
  console.log(`  ${parts}; the step: ${rateText(total.bytes, 1000 * milliseconds)}`);
  if (cards.length > 1) await printShares(cards, total, 1000 * milliseconds);
  const [{ device: card, recorded }] = cards as [Card];
  if (card instanceof WebGpuDevice) await printInPlace(card, recorded);
}

/** What the launches of a step are, one kind after another, on the cards at once; of bytes, rank 0's. */
interface StepTotal {
  readonly microseconds: number;
  readonly launches: number;
  readonly bytes: number;
  /** The most bytes a microsecond of any kind. */
  readonly bestRate: number;
  /** The place of the shortest launch. */
  readonly shortest: number;
}

/** Prints the time of each kind of launches. */
async function printKinds(cards: readonly Card[], plan: ExecutionPlan): Promise<StepTotal> {
  const all = (cards[0] as Card).recorded.all;
  const bytesOf = weightBytes(plan);
  const total = { microseconds: 0, launches: 0, bytes: 0, bestRate: 0, shortest: 0 };
  let least = Number.POSITIVE_INFINITY;
  for (const [kind, places] of kindsOf(all)) {
    const microseconds = await timedLaunches(cards, places);
    const bytes = places.reduce((sum, place) => sum + bytesOf(all[place] as Launch), 0);
    total.microseconds += microseconds;
    total.launches += places.length;
    total.bytes += bytes;
    total.bestRate = Math.max(total.bestRate, bytes / microseconds);
    if (microseconds / places.length < least) {
      least = microseconds / places.length;
      total.shortest = places[0] as number;
    }
    const each = (microseconds / places.length).toFixed(2);
    const time = `${microseconds.toFixed(1).padStart(8)} us = ${places.length} x ${each}`;
    console.log(`  ${time}  ${rateText(bytes, microseconds)}${kind}`);
  }
  return total;
}

/**
 * Prints where the time of a step over several cards goes: weights at the best rate of any launch; the ends of launches, as long as the shortest of them
 * takes in a row; the meetings, which is what the step takes longer with them; and the rest.
 */
async function printShares(cards: readonly Card[], total: StepTotal, microseconds: number): Promise<void> {
  const all = (cards[0] as Card).recorded.all;
  const places = [...all.keys()];
  const alone = places.filter((place) => !isMeeting(all[place] as Launch));
  const meetings = all.length - alone.length;
  const [withThem, without] = [await timedLaunches(cards, places), await timedLaunches(cards, alone)];
  const row = Array.from({ length: REPEATED }, () => total.shortest);
  const least = (await timedLaunches(cards, row)) / REPEATED;
  const bytes = total.bytes / total.bestRate;
  const ends = alone.length * least;
  const met = withThem - without;
  const share = (of: number) => `${of.toFixed(0)} us (${((100 * of) / microseconds).toFixed(0)} %)`;
  console.log(
    `  of ${microseconds.toFixed(0)} us: ${share(bytes)} for ${(total.bytes / 1e6).toFixed(0)} MB of weights a card at ${(total.bestRate / 1e6).toFixed(2)} TB/s, ` +
      `${share(ends)} for the ends of ${alone.length} launches at ${least.toFixed(2)}, ${share(met)} for ${meetings} meetings of the ranks ` +
      `at ${(met / meetings).toFixed(2)}, ${share(microseconds - bytes - ends - met)} for the rest; launched as one, ${withThem.toFixed(0)} us`,
  );
}

/** Megabytes and terabytes a second, or nothing. */
function rateText(bytes: number, microseconds: number): string {
  if (bytes === 0) return '';
  return `${(bytes / 1e6).toFixed(1)} MB, ${(bytes / microseconds / 1e6).toFixed(2)} TB/s  `;
}

/** The bytes of all weights that a launch names, of rank 0's in a group; of the embeddings it reads only rows. */
function weightBytes(plan: ExecutionPlan): (launch: Launch) => number {
  return (launch) => {
    if (!('kind' in launch) || (launch.kind !== 'kernel' && launch.kind !== 'product')) return 0;
    if (launch.kind === 'kernel' && launch.kernel === 'embed_rows') return 0;
    const named = launch.kind === 'kernel' ? launch.args.map(({ value }) => value) : [launch.w];
    const own = plan.weights.flatMap(({ packed, range }) => {
      if (!('ranks' in packed)) return [{ packed, range }];
      const shard = (packed as GroupWeight).ranks[0];
      return shard ? [{ packed: shard, range: onRank(range, 0) }] : [];
    });
    const read = own.filter(({ range }) => named.includes(addressOf(range)));
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
  const [, known = '', layers, ranks] = /^([^:/]+)(?::(\d+))?(?:\/(\d+))?$/.exec(name) ?? [];
  const shape = syntheticShape(known, layers === undefined ? {} : { layers: Number(layers) });
  // A shape that names no head size has its family's, which may be wider than the width divided by the heads.
  if (ranks === undefined) return shape;
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

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { gpus: { type: 'string', default: '1' }, dequantized: { type: 'boolean', default: false } },
});
const [driver = 'cuda', shapeName = 'llama-2-7b', formatName = Q4_0.name, ...batches] = positionals;
const model = await modelOf(shapeCalled(shapeName), formatName);
const gpus = Array.from({ length: Number(values.gpus) }, (_, gpu) =>
  gpu === 0 ? driver : `${driver}:${gpu}`,
);
const devices = await Promise.all(gpus.map((device) => openDevice({ device })));
for (const { info } of devices) console.log(info.name, info.details);
const cards = devices.map((device): Card => ({ device, recorded: new Recorded() }));
const watched = cards.map(({ device, recorded }) => recorded.watching(device));
await using whole = watched.length > 1 ? new DeviceGroup(watched) : (watched[0] as Device);
for (const batch of batches.length > 0 ? batches : ['1']) {
  const prompt = batch.startsWith('p');
  const [rows = 1, depth] = (prompt ? batch.slice(1) : batch).split('@').map(Number);
  const past = depth ?? (prompt ? 0 : rows === 1 ? 64 : 192);
  await measure(whole, cards, { model, work: { rows, prompt, past, dequantized: values.dequantized } });
}
