import { isRocmforgeError } from '../../src/base/errors.ts';
import type { Step } from '../../src/device/index.ts';
import {
  HIP_CUDA_KERNELS,
  type HipCudaDevice,
  type KernelLaunch,
  type KernelModule,
  type KernelSet,
} from '../../src/devices/hip-cuda/index.ts';
import type { OpGraph } from '../../src/ops/index.ts';
import type { SyntheticModel } from '../../tests/support/synthetic-graphs.ts';
import { candidatesOf, differenceOf } from './candidates.ts';
import { executableOf, kindsOf, type Launch, Recorded } from './launches.ts';
import { nameOfWork, PreparedStep, type Work } from './prepared-step.ts';
import { timed } from './timing.ts';

/** Kernels to compile, passed as a graph. */
class Candidates {
  readonly name = 'candidates';

  constructor(readonly modules: readonly KernelModule[]) {}
}

/** The usual kernels, and those that are asked for by themselves. */
export const TUNABLE_KERNELS: KernelSet = {
  ...HIP_CUDA_KERNELS,
  lower: (graph, target) =>
    graph instanceof Candidates
      ? { weights: [], scratchBytes: 0, modules: graph.modules, launches: () => [] }
      : HIP_CUDA_KERNELS.lower(graph, target),
};

/** Times of the step as it is and with another choice, in turns. */
const TURNS = 5;

/** A step whose launches can be exchanged. */
class TunableStep {
  readonly #device: HipCudaDevice;
  readonly #prepared: PreparedStep;
  readonly launches: readonly Launch[];

  constructor(device: HipCudaDevice, prepared: PreparedStep, launches: readonly Launch[]) {
    this.#device = device;
    this.#prepared = prepared;
    this.launches = launches;
  }

  get target(): HipCudaDevice['target'] {
    return this.#device.target;
  }

  /** Microseconds of the launches in these places, one behind the other. */
  async alone(places: readonly number[]): Promise<number> {
    using step = await this.#record(places.map((place) => this.launches[place] as Launch));
    return await this.#microseconds(step, 1);
  }

  /** The candidates that can be compiled. */
  async compiled(candidates: readonly KernelLaunch[]): Promise<KernelLaunch[]> {
    const compiling = candidates.map(({ module }) =>
      this.#device.compile(new Candidates([module]) as unknown as OpGraph),
    );
    const settled = await Promise.allSettled(compiling);
    return candidates.filter((_, place) => settled[place]?.status === 'fulfilled');
  }

  /** Microseconds of the step with other launches in these places. */
  async time(changes: Changes, rounds: number): Promise<number> {
    using step = await this.#changed(changes);
    return await this.#microseconds(step, rounds);
  }

  /** The logits that the step computes at the beginning of texts with other launches in these places. */
  async logits(changes: Changes): Promise<Float32Array> {
    const range = this.#prepared.plan.result('logits');
    const found = new Float32Array(range.byteLength / 4);
    using step = await this.#changed(changes);
    await using stream = this.#device.createStream('logits');
    this.#prepared.upload(stream, 0);
    stream.run(step);
    await stream.download(range, new Uint8Array(found.buffer));
    return found;
  }

  async #microseconds(step: Step, rounds: number): Promise<number> {
    // What was computed before may have had other inputs.
    await using stream = this.#device.createStream('inputs');
    this.#prepared.upload(stream);
    await stream.synchronize();
    return 1000 * (await timed([this.#device], ([stream]) => stream?.run(step), rounds));
  }

  #changed(changes: Changes): Promise<Step> {
    return this.#record(this.launches.map((launch, place) => changes.get(place) ?? launch));
  }

  #record(launches: readonly Launch[]): Promise<Step> {
    return this.#device.record([executableOf('tuned', launches)], 'tuned');
  }
}

/** Launches in some places, by other choices: each keeps what it reads and writes. */
type Changes = ReadonlyMap<number, KernelLaunch>;

const NONE: Changes = new Map();

/** A kind of launch in a step. */
class Kind {
  readonly places: readonly number[];
  readonly first: KernelLaunch;
  readonly #step: TunableStep;

  constructor(step: TunableStep, places: readonly number[], first: KernelLaunch) {
    this.#step = step;
    this.places = places;
    this.first = first;
  }

  /** Microseconds that its launches take in a row. */
  microseconds(): Promise<number> {
    return this.#step.alone(this.places);
  }

  by({ module, grid, block, sharedBytes }: KernelLaunch): Changes {
    return new Map(
      this.places.map((place) => {
        const launch = this.#step.launches[place] as KernelLaunch;
        return [place, { ...launch, module, grid, block, sharedBytes }];
      }),
    );
  }
}

/** What is tried. */
export interface TuningLimits {
  /** Most definitions of a kernel that a candidate changes. */
  readonly changes: number;
  /** The least share of the step that a kind of launch takes which is tuned. */
  readonly least: number;
  /** Candidates of a kind that are timed again and printed. */
  readonly keep: number;
  /** The only choices that are tried, by definition, whatever else a launch has; undefined for all. */
  readonly tries?: readonly Readonly<Record<string, number>>[] | undefined;
}

/** Prints what other choices make of a step, on a device with `TUNABLE_KERNELS`. */
export async function tuneStep(
  device: HipCudaDevice,
  { model, work, limits }: { model: SyntheticModel; work: Work; limits: TuningLimits },
): Promise<void> {
  const recorded = new Recorded();
  recorded.rows = work.rows;
  await using prepared = await PreparedStep.of(recorded.watching(device), { model, work });
  const step = new TunableStep(device, prepared, recorded.all);
  const whole = await step.time(NONE, 5);
  console.log(`${nameOfWork(work)}: ${whole.toFixed(0)} us`);
  const together = new Map<number, KernelLaunch>();
  for (const places of kindsOf(step.launches).values()) {
    const first = step.launches[places[0] as number] as Launch;
    if (!('kind' in first) || first.kind !== 'kernel') continue;
    const kind = new Kind(step, places, first);
    if ((await kind.microseconds()) < limits.least * whole) continue;
    for (const [place, launch] of (await tune(step, kind, limits)) ?? []) together.set(place, launch);
  }
  if (together.size > 0)
    console.log(`  ${percent(await gainOf(step, together))}  the best of all kinds together`);
}

/** Prints what each choice makes of the step. Returns the best one, if any is better than what there is. */
async function tune(
  step: TunableStep,
  kind: Kind,
  { changes, keep, tries }: TuningLimits,
): Promise<Changes | undefined> {
  const most = tries ? Number.POSITIVE_INFINITY : changes;
  const all = candidatesOf(kind.first, { target: step.target, changes: most });
  const wanted = tries
    ? all.filter((candidate) => tries.some((choice) => isOf(candidate, choice, kind.first)))
    : all;
  if (wanted.length === 0) {
    if (all.length > 0) console.log(`  ${kind.places.length} x ${nameOf(kind.first)}: none of these choices`);
    return undefined;
  }
  const candidates = await step.compiled(wanted);
  const quick: { to: Changes; name: string; microseconds: number }[] = [];
  for (const candidate of candidates) {
    const to = kind.by(candidate);
    const name = differenceOf(candidate, kind.first);
    try {
      quick.push({ to, name, microseconds: await step.time(to, 1) });
    } catch (error) {
      if (!isRocmforgeError(error, 'DRIVER_CALL')) throw error;
      console.log(`    ${name}: ${error.message}`);
    }
  }
  quick.sort((a, b) => a.microseconds - b.microseconds);
  console.log(`  ${kind.places.length} x ${nameOf(kind.first)}: ${quick.length} choices`);
  const expected = await step.logits(NONE);
  console.log(
    `    logits up to ${largestDifference(expected, new Float32Array(expected.length)).toPrecision(2)}`,
  );
  let best: { to: Changes; gain: number } | undefined;
  for (const { to, name } of quick.slice(0, keep)) {
    const gain = await gainOf(step, to);
    const difference = largestDifference(await step.logits(to), expected);
    console.log(`    ${percent(gain)}  ${name}  (logits differ by ${difference.toPrecision(2)})`);
    if (gain > (best?.gain ?? 0)) best = { to, gain };
  }
  return best?.to;
}

/** Whether a candidate has the definitions of a choice, and all others from the launch as it is. */
function isOf(
  { module }: KernelLaunch,
  choice: Readonly<Record<string, number>>,
  from: KernelLaunch,
): boolean {
  return Object.entries(module.defines).every(
    ([name, value]) => value === (choice[name] ?? from.module.defines[name]),
  );
}

/** How much shorter the step becomes, timed in turns with what it is. */
async function gainOf(step: TunableStep, to: Changes): Promise<number> {
  const gains: number[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    const before = await step.time(NONE, 1);
    const after = await step.time(to, 1);
    gains.push(1 - after / before);
  }
  return gains.sort((a, b) => a - b)[TURNS >> 1] as number;
}

function largestDifference(found: Float32Array, expected: Float32Array): number {
  return found.reduce((largest, value, i) => Math.max(largest, Math.abs(value - (expected[i] ?? 0))), 0);
}

function nameOf({ kernel, module: { defines }, grid }: KernelLaunch): string {
  return `${kernel} ${Object.entries(defines)
    .map((entry) => entry.join('='))
    .join(' ')} over ${grid.join(' x ')}`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(2).padStart(6)} %`;
}
