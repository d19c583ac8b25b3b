import { Lifetime } from '../../base/disposal.ts';
import { fail, invariant } from '../../base/errors.ts';
import type { BufferRange, DeviceBuffer, PinnedBuffer } from '../../device/index.ts';

/** What a pipeline's buffer is made of. */
export interface PipelineBufferSetup {
  readonly byteLength: number;
  readonly label: string;
  /** By stage; undefined where it is not. */
  readonly stages: readonly (DeviceBuffer | undefined)[];
  /** Memory of the host through which its contents pass from stage to stage, if steps write it and it is on several. */
  readonly passage: PinnedBuffer | undefined;
  readonly ended: (buffer: PipelineBuffer) => void;
}

/** How many rows of a batch's capacity are in use (`BatchTensors.counts`). */
export interface RowCounts {
  readonly rows: number;
  readonly outputs: number;
}

const COUNTS_BYTES = 8;

/**
 * Memory of a pipeline: a buffer of the same size on each stage that uses it, in which offsets mean the same. What a step writes is on
 * its stage alone, until a step of another one reads it.
 */
export class PipelineBuffer implements DeviceBuffer {
  readonly byteLength: number;
  readonly label: string;
  readonly stages: readonly (DeviceBuffer | undefined)[];
  readonly passage: PinnedBuffer | undefined;
  /** Resolves when the passage may be filled again. */
  passageFree: Promise<void> = Promise.resolve();
  readonly #ended: (buffer: PipelineBuffer) => void;
  readonly #lifetime: Lifetime;
  /** The stage that wrote it last. */
  #writer: number | undefined;
  /** Of each other stage: how many bytes from the start on are what the writer has. */
  readonly #reach: number[];
  /** By offset, the numbers of rows in use that the host wrote there last. */
  readonly #counts = new Map<number, RowCounts | undefined>();

  constructor({ byteLength, label, stages, passage, ended }: PipelineBufferSetup) {
    this.byteLength = byteLength;
    this.label = label;
    this.stages = stages;
    this.passage = passage;
    this.#ended = ended;
    this.#lifetime = new Lifetime(`buffer ${label}`);
    this.#reach = stages.map(() => byteLength);
  }

  /** Throws `DISPOSED` after disposal. */
  check(): void {
    this.#lifetime.check();
  }

  /** The stage from which its contents are read. */
  get holder(): number {
    return this.#writer ?? this.stages.findIndex((buffer) => buffer !== undefined);
  }

  /** Whether a stage has what was written last to the first so many bytes. */
  isOn(stage: number, end: number): boolean {
    return stage === this.#writer || (this.#reach[stage] ?? 0) >= end;
  }

  /** Records that a step of a stage writes it. */
  written(stage: number): void {
    this.#writer = stage;
    this.#reach.fill(0);
  }

  /** Records that a range was passed on to a stage. */
  passed(stage: number, begin: number, end: number): void {
    const reach = this.#reach[stage] ?? 0;
    if (begin <= reach) this.#reach[stage] = Math.max(reach, end);
  }

  /** From the next upload on, keeps the numbers of rows in use at an offset. */
  keepCounts(offset: number): void {
    if (!this.#counts.has(offset)) this.#counts.set(offset, undefined);
  }

  /** Numbers that are kept; undefined before an upload. */
  countsAt(offset: number): RowCounts | undefined {
    return this.#counts.get(offset);
  }

  /** Records what the host writes, while it may be read. */
  uploaded(source: Uint8Array, offset: number): void {
    for (const at of this.#counts.keys()) {
      if (at < offset || at + COUNTS_BYTES > offset + source.byteLength) continue;
      const view = new DataView(source.buffer, source.byteOffset + at - offset, COUNTS_BYTES);
      this.#counts.set(at, { rows: view.getInt32(0, true), outputs: view.getInt32(4, true) });
    }
  }

  [Symbol.dispose](): void {
    if (!this.#lifetime.end()) return;
    for (const buffer of this.stages) buffer?.[Symbol.dispose]();
    this.passage?.[Symbol.dispose]();
    this.#ended(this);
  }
}

/** The pipeline's buffer of a range. Throws `BINDING` for another device's, `DISPOSED` after its disposal. */
export function pipelineBuffer({ buffer }: Pick<BufferRange, 'buffer'>, use: string): PipelineBuffer {
  if (buffer instanceof PipelineBuffer) {
    buffer.check();
    return buffer;
  }
  const found = `${buffer.label}, of another device`;
  return fail('BINDING', { graph: 'pipeline', value: use, found, expected: 'memory of the pipeline' });
}

/** The part of a pipeline's range that lies on one stage. */
export function onStage(range: BufferRange, stage: number): BufferRange {
  const buffer = pipelineBuffer(range, 'range').stages[stage];
  invariant(buffer, `${range.buffer.label} is on stage ${stage}`);
  return { buffer, offset: range.offset, byteLength: range.byteLength };
}
