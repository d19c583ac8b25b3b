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
import type { Device, Step, Stream } from '../src/device/index.ts';
import { addressOf } from '../src/devices/hip-cuda/memory/hip-cuda-buffer.ts';
import { DeviceGroup } from '../src/devices/group/index.ts';
import { onRank } from '../src/devices/group/group-memory.ts';
import type { GroupWeight } from '../src/devices/group/group-weight.ts';
import { WebGpuDevice } from '../src/devices/webgpu/webgpu-device.ts';
import { Q4_0 } from '../src/formats/index.ts';
import { openDevice } from '../src/node/devices.ts';
import type { ExecutionPlan } from '../src/plan/execution-plan.ts';
import type { SyntheticModel } from '../tests/support/synthetic-graphs.ts';
import { executableOf, isMeeting, kindsOf, type Launch, Recorded } from './gpu-step/launches.ts';
import {
  modelOf,
  nameOfWork,
  PreparedStep,
  shapeCalled,
  type Work,
  workCalled,
} from './gpu-step/prepared-step.ts';
import { timed } from './gpu-step/timing.ts';

/** Launches in a row that show how long one takes. */
const REPEATED = 64;

/** A GPU that runs the whole step or a rank's part of it. */
interface Card {
  readonly device: Device;
  readonly recorded: Recorded;
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

/** Measures a workload on a device that records the launches of each card. */
async function measure(
  device: Device,
  cards: readonly Card[],
  { model, work }: { model: SyntheticModel; work: Work },
): Promise<void> {
  for (const { recorded } of cards) recorded.rows = work.rows;
  await using prepared = await PreparedStep.of(device, { model, work });
  const { plan, compiled } = prepared;
  const milliseconds = await timed([device], ([stream]) => prepared.run(stream as Stream));
  const perSecond = (1000 * work.rows) / milliseconds;
  console.log(
    `${nameOfWork(work)}: ${milliseconds.toFixed(3)} ms, ${perSecond.toFixed(0)} tok/s (compiled in ${compiled.toFixed(0)} ms)`,
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
  await measure(whole, cards, { model, work: { ...workCalled(batch), dequantized: values.dequantized } });
}
