import { fail, invariant } from '../../base/errors.ts';
import {
  type DequantizedFacts,
  type Device,
  type DeviceBuffer,
  type DeviceInfo,
  type Executable,
  type GroupFacts,
  type MemoryInfo,
  type MemoryRules,
  memoryShares,
  type PackedWeight,
  type PinnedBuffer,
  type PinnedUse,
  type Program,
  type Step,
  type Stream,
  totalOf,
} from '../../device/index.ts';
import type { TensorFormat } from '../../formats/index.ts';
import type { OpGraph } from '../../ops/index.ts';
import { MultiDevice } from './multi-device.ts';
import { PipelineBuffer, pipelineBuffer } from './pipeline-memory.ts';
import { type PipelineExecutable, PipelineProgram, StageWeight } from './pipeline-program.ts';
import { PipelineStep } from './pipeline-step.ts';
import { PipelineStream } from './pipeline-stream.ts';

/**
 * Devices of any kinds as one, each with some consecutive layers of a model, their weights and their states (pipeline stages). A stage
 * is a single device or a group of them. It runs graphs that say on which stage; what a stage reads and another one wrote passes
 * through the host, so the devices need not see one another's memory. One step is on one stage at a time. The last stage counts as
 * the device that the pipeline is for: its kind and its pinned memory are the pipeline's. The pipeline owns its stages.
 */
export class DevicePipeline extends MultiDevice {
  readonly memoryRules: MemoryRules;
  readonly stages: readonly Device[];
  /** Pins as the last stage does, if it does. */
  readonly pin?: (bytes: Uint8Array, label: string) => PinnedBuffer;
  readonly #packing: ReadonlySet<number>;

  /** Throws `INVALID_ARGUMENT` for fewer than two stages, or groups of different sizes: layers are split one way. */
  constructor(stages: readonly Device[]) {
    if (stages.length < 2) {
      fail('INVALID_ARGUMENT', { name: 'stages', found: `${stages.length}`, expected: 'two or more' });
    }
    const sizes = new Set(stages.flatMap(({ group }) => group?.ranks ?? []));
    if (sizes.size > 1) {
      const found = `groups of ${[...sizes].join(', ')} ranks`;
      fail('INVALID_ARGUMENT', { name: 'stages', found, expected: 'groups of one size' });
    }
    super('pipeline', 'stage', stages);
    this.stages = stages;
    const last = this.#last;
    if (last.pin) this.pin = last.pin.bind(last);
    this.#packing = new Set(stages.flatMap((stage, index) => (packsFrom(stage, last) ? [index] : [])));
    this.memoryRules = last.memoryRules;
  }

  get info(): DeviceInfo {
    const { backend, details } = this.#last.info;
    const name = this.stages.map(({ info }) => info.name).join(' + ');
    return { backend, name, details: { ...details, stages: this.stages.length } };
  }

  /** How layers are split over the devices of a stage, if one is a group. */
  get group(): GroupFacts | undefined {
    return this.stages.find(({ group }) => group)?.group;
  }

  get devices(): readonly Device[] {
    return this.stages.flatMap((stage) => stage.devices ?? [stage]);
  }

  /** Of all stages together. */
  async memory(): Promise<MemoryInfo> {
    this.live.check();
    const all = await memoryShares(this.stages);
    return { total: totalOf(all.map(({ total }) => total)), free: totalOf(all.map(({ free }) => free)) };
  }

  createBuffer(byteLength: number, label: string, stages?: readonly number[]): PipelineBuffer {
    const buffers = this.createBuffers(byteLength, label, (stage) => stages?.includes(stage) ?? true);
    try {
      const passage =
        stages && stages.length > 1 ? this.createPinned(byteLength, `${label}, passing on`) : undefined;
      const ended = (buffer: PipelineBuffer) => this.live.remove(buffer);
      return this.live.add(new PipelineBuffer({ byteLength, label, stages: buffers, passage, ended }));
    } catch (error) {
      for (const buffer of buffers) buffer?.[Symbol.dispose]();
      throw error;
    }
  }

  createPinned(byteLength: number, label: string, use?: PinnedUse): PinnedBuffer {
    this.live.check();
    return this.#last.createPinned(byteLength, label, use);
  }

  /** As many as suit every stage. */
  get promptRows(): number | undefined {
    const rows = this.stages.flatMap(({ promptRows }) => promptRows ?? []);
    return rows.length === this.stages.length ? Math.min(...rows) : undefined;
  }

  /** Stages that make no copies make none in a pipeline either. */
  get dequantized(): DequantizedFacts | undefined {
    const facts = this.stages.flatMap(({ dequantized }) => dequantized ?? []);
    if (facts.length === 0) return undefined;
    const minRows = Math.min(...facts.map((of) => of.minRows));
    return { minRows, maxBytes: totalOf(facts.map(({ maxBytes }) => maxBytes)) };
  }

  /** Those of any stage. */
  rowCapacities(rows: number): readonly number[] {
    const capacities = new Set(this.stages.flatMap((stage) => stage.rowCapacities(rows)));
    return [...capacities].sort((a, b) => a - b);
  }

  async compile(graph: OpGraph): Promise<Program> {
    this.live.check();
    const { stage, ...own } = graph;
    const device = this.stages[stage ?? -1];
    invariant(stage !== undefined && device, `${graph.name} was recorded for a stage`);
    return new PipelineProgram(graph, stage, await device.compile(own));
  }

  async readyToDecode(weight: PackedWeight, part: number, format: TensorFormat): Promise<boolean> {
    invariant(weight instanceof StageWeight, 'a weight of a pipeline is that of a stage');
    const device = this.stages[weight.stage];
    return (await device?.readyToDecode?.(weight.packed, part, format)) ?? false;
  }

  protected override streamOver(
    streams: readonly Stream[],
    label: string,
    ended: (stream: Stream) => void,
  ): Stream {
    return new PipelineStream({ label, stages: this.stages, streams, packing: this.#packing, ended });
  }

  protected override checkOwn(buffer: DeviceBuffer, label: string): void {
    pipelineBuffer({ buffer }, label);
  }

  protected override recordOwn(
    executables: readonly Executable[],
    label: string,
    ended: (step: Step) => void,
  ): Promise<Step> {
    return PipelineStep.record(executables as readonly PipelineExecutable[], {
      label,
      stages: this.stages,
      ended,
    });
  }

  get #last(): Device {
    return this.stages.at(-1) as Device;
  }
}

/** Whether a stage packs rows out of pinned memory of another one. */
function packsFrom(stage: Device, other: Device): boolean {
  if (stage === other) return true;
  const isOfKind =
    stage.info.backend === other.info.backend && (stage.group === undefined) === (other.group === undefined);
  return isOfKind && (stage.packsCuts === true || stage.group !== undefined);
}
