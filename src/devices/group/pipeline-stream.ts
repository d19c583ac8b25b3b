import { fail, invariant } from '../../base/errors.ts';
import {
  type BufferRange,
  checkCopySizes,
  checkRows,
  type Device,
  type FileRows,
  type PackedWeight,
  type PinnedRows,
  rowsBytes,
  type Step,
  type Stream,
  type WeightRows,
  RowStaging,
} from '../../device/index.ts';
import { MultiDeviceStream } from './multi-device-stream.ts';
import { onStage, type PipelineBuffer, pipelineBuffer } from './pipeline-memory.ts';
import { type StageRead, StageWeight } from './pipeline-program.ts';
import { PipelineStep } from './pipeline-step.ts';

/** What a stream is created from. */
export interface PipelineStreamSetup {
  readonly label: string;
  readonly stages: readonly Device[];
  /** By stage. */
  readonly streams: readonly Stream[];
  /** The stages that pack rows out of pinned memory of the last one; the others get a copy of them. */
  readonly packing: ReadonlySet<number>;
  readonly ended: (stream: Stream) => void;
}

/**
 * A stream of every stage, as one. What a stage reads and another one wrote passes through the host in between, which holds back what
 * is behind it.
 */
export class PipelineStream extends MultiDeviceStream<PipelineBuffer, PipelineStep> {
  constructor({ label, stages, streams, packing, ended }: PipelineStreamSetup) {
    const staging = stages.map((device, stage) => (packing.has(stage) ? undefined : new RowStaging(device)));
    super('pipeline', { label, streams, staging, ended });
  }

  /** To all stages that have the buffer. */
  upload(source: Uint8Array, target: BufferRange): void {
    const buffer = this.check('upload target', target, source.byteLength);
    this.queue.push(() => {
      buffer.uploaded(source, target.offset);
      for (const [stage, stream] of this.streams.entries()) {
        if (buffer.stages[stage]) stream.upload(source, onStage(target, stage));
      }
    });
  }

  copy(source: BufferRange, target: BufferRange): void {
    const from = this.check('copy source', source, 0);
    const to = this.check('copy target', target, 0);
    checkCopySizes(source, target, this.label);
    this.queue.push(() => {
      const stage = from.holder;
      this.#stream(stage).copy(onStage(source, stage), onStage(target, stage));
      to.written(stage);
    });
  }

  /** From the stage that wrote it last. */
  download(source: BufferRange, into: Uint8Array): Promise<void> {
    const buffer = this.check('download source', source, into.byteLength);
    return this.queue.result(() => {
      const stage = buffer.holder;
      return this.#stream(stage).download(onStage(source, stage), into);
    });
  }

  pack(weight: PackedWeight, rows: WeightRows, from: PinnedRows, target: BufferRange): void {
    this.check('pack target', target, weight.byteLength);
    checkRows({ graph: this.label, weight, decodes: () => true }, rows, from);
    const { stage, packed } = this.#stageWeight(weight);
    const staging = this.staging[stage];
    this.queue.push(() => {
      const stream = this.#stream(stage);
      const place = onStage(target, stage);
      // An event of the stage alone cannot be compared with those of the pipeline.
      if (!staging) return stream.pack(packed, rows, { ...from, onCopy: undefined }, place);
      const bytes = rowsBytes(packed, rows);
      const source = from.pinned.bytes.subarray(from.offset, from.offset + bytes);
      return staging.pack(stream, bytes, {
        fill: (into) => into.set(source),
        pack: (pinned) => stream.pack(packed, rows, { pinned, offset: 0 }, place),
      });
    });
  }

  packOwn(weight: PackedWeight, rows: WeightRows, from: FileRows, target: BufferRange): void {
    this.check('pack target', target, weight.byteLength);
    const { stage, packed } = this.#stageWeight(weight);
    const stream = this.#stream(stage);
    if (!stream.packOwn) {
      const [found, expected] = ['a stage of this process', 'one with a file of its own'];
      fail('BINDING', { graph: this.label, value: 'packOwn', found, expected });
    }
    this.queue.push(() => stream.packOwn?.(packed, rows, from, onStage(target, stage)));
  }

  protected override ownBuffer(range: BufferRange, use: string): PipelineBuffer {
    return pipelineBuffer(range, use);
  }

  protected override ownStep(step: Step): PipelineStep | undefined {
    return step instanceof PipelineStep ? step : undefined;
  }

  protected override async runOwn({ pieces }: PipelineStep): Promise<void> {
    for (const { stage, step, reads, writes } of pieces) {
      const missing = reads.map(inUse).filter((range) => !isOn(range, stage));
      if (missing.length > 0) await this.#passOn(missing, stage);
      this.#stream(stage).run(step);
      for (const buffer of writes) buffer.written(stage);
    }
  }

  #stageWeight(weight: PackedWeight): StageWeight {
    if (weight instanceof StageWeight) return weight;
    const found = 'a weight of a single device';
    return fail('BINDING', { graph: this.label, value: 'pack', found, expected: "the pipeline's own" });
  }

  #stream(stage: number): Stream {
    return this.streams[stage] as Stream;
  }

  /** Brings what other stages wrote to a stage, through the host. */
  async #passOn(ranges: readonly BufferRange[], to: number): Promise<void> {
    await Promise.all(
      ranges.map(async (range) => {
        const buffer = pipelineBuffer(range, 'value');
        const { passage, holder } = buffer;
        invariant(passage, `${buffer.label} passes from stage to stage`);
        await buffer.passageFree;
        const bytes = passage.bytes.subarray(0, range.byteLength);
        await this.#stream(holder).download(onStage(range, holder), bytes);
        this.#stream(to).upload(bytes, onStage(range, to));
        buffer.passed(to, range.offset, range.offset + range.byteLength);
      }),
    );
    const arrived = this.#stream(to).record().completed();
    // Whoever waits for the stage's stream gets its error, too.
    const free = arrived.catch(() => {});
    for (const range of ranges) pipelineBuffer(range, 'value').passageFree = free;
  }
}

/** The part of a range that has rows in use: others are neither read nor written. */
function inUse({ range, rows, counts }: StageRead): BufferRange {
  const found = rows && pipelineBuffer(counts, 'counts').countsAt(counts.offset);
  if (!found) return range;
  return { ...range, byteLength: Math.min(range.byteLength, found[rows.axis] * rows.bytes) };
}

function isOn(range: BufferRange, stage: number): boolean {
  return pipelineBuffer(range, 'value').isOn(stage, range.offset + range.byteLength);
}
