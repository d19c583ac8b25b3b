import { isRocmforgeError, RocmforgeError } from '../base/errors.ts';
import type { Device, Stream } from '../device/index.ts';
import type { ExecutionPlan } from '../plan/execution-plan.ts';
import type { ScheduledStep } from '../scheduler/continuous-batcher.ts';
import { JobPipeline, type PipelineSetup } from './jobs/job-pipeline.ts';
import type { JobSequence } from './jobs/job-sequence.ts';
import { likelySteps, StepsAhead } from './steps-ahead.ts';

/** A model on a device: allocated, and loaded or about to be. */
export interface PlacedModel {
  readonly device: Device;
  readonly plan: ExecutionPlan;
}

/** Losses of the device without progress between them, after which the work in flight is given up. */
export const MAX_LOSSES = 3;

/** An engine's stream on one device and the steps in flight on it. It ends with the device. */
export class DeviceRun<S extends JobSequence> implements AsyncDisposable {
  readonly plan: ExecutionPlan;
  readonly stream: Stream;
  readonly pipeline: JobPipeline<S>;
  /** Records steps ahead of time while idle. */
  readonly ahead: StepsAhead | undefined;
  readonly backend: string;
  readonly #device: Device;

  constructor({ device, plan }: PlacedModel, parts: Omit<PipelineSetup, 'plan' | 'stream'>) {
    this.plan = plan;
    this.#device = device;
    this.backend = device.info.backend;
    this.stream = plan.setup.device.createStream('compute');
    this.pipeline = new JobPipeline({ ...parts, plan, stream: this.stream });
    const { runtime, state } = parts;
    if (runtime.recordsAhead) {
      const capacities = plan.plans.map(({ shape }) => shape.rows);
      const isSampled = plan.generates && runtime.sampling === 'device';
      const generates = plan.predicts ? 'predict' : 'generate';
      this.ahead = new StepsAhead(
        plan,
        likelySteps(capacities, state.context, isSampled ? generates : 'forward'),
      );
    }
  }

  /** The loss of the device, when that caused an error. */
  async lossBehind(error: unknown): Promise<Error | undefined> {
    // The report of a loss may arrive a turn later than the failures that it causes. It is not awaited earlier, because
    // a device that works would block whoever waits.
    const later = new Promise<undefined>((resolve) => setTimeout(resolve, 0));
    const lost = await Promise.race([this.#device.lost, later]);
    return lost ?? (isRocmforgeError(error, 'DEVICE_LOST') ? error : undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.ahead?.[Symbol.asyncDispose]();
    this.pipeline[Symbol.dispose]();
    await this.stream[Symbol.asyncDispose]();
  }
}

/**
 * Among the sequences under whose steps the device is lost repeatedly, the one with the most rows in them. Counts a
 * loss.
 */
export function likelyCulprit<S extends { losses: number }>(
  underWay: readonly ScheduledStep<S>[],
  running: ReadonlySet<S>,
): S | undefined {
  const rows = new Map<S, number>();
  for (const { sequence, count } of underWay.flatMap(({ slices }) => slices)) {
    if (running.has(sequence)) rows.set(sequence, count + (rows.get(sequence) ?? 0));
  }
  let worst: S | undefined;
  for (const [sequence, count] of rows) {
    if (++sequence.losses < MAX_LOSSES) continue;
    if (!worst || count >= (rows.get(worst) ?? 0)) worst = sequence;
  }
  if (worst) for (const sequence of rows.keys()) sequence.losses = 0;
  return worst;
}

/** The error of abandoned work: the device was lost repeatedly. */
export function deviceNotRestored(device: string, lost: Error | undefined): RocmforgeError {
  const why = lost?.message ?? 'no reason given';
  return new RocmforgeError('DEVICE_NOT_RESTORED', { device, attempts: MAX_LOSSES, why }, { cause: lost });
}
