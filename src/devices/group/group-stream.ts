import { fail } from '../../base/errors.ts';
import {
  type BufferRange,
  checkCopySizes,
  checkRows,
  type Device,
  type FileRows,
  type PackedWeight,
  type PinnedRows,
  type RowCut,
  type Step,
  type Stream,
  type WeightRows,
  RowStaging,
} from '../../device/index.ts';
import { computeCollective } from '../../ops/index.ts';
import { type GroupBuffer, groupBuffer, GroupPinned, onRank } from './group-memory.ts';
import type { BoundCollective } from './group-program.ts';
import { GroupStep } from './group-step.ts';
import { GroupWeight } from './group-weight.ts';
import { MultiDeviceStream } from './multi-device-stream.ts';

/** What a stream is created from. */
export interface GroupStreamSetup {
  readonly label: string;
  readonly devices: readonly Device[];
  /** By rank. */
  readonly streams: readonly Stream[];
  readonly ended: (stream: Stream) => void;
}

/** Rows that are handed over to all ranks. */
interface GroupRows {
  readonly weight: GroupWeight;
  readonly rows: WeightRows;
  readonly target: BufferRange;
  readonly from: PinnedRows;
  /** The memory of `from`. */
  readonly pinned: GroupPinned;
}

/**
 * A stream of every rank, as one. Work is handed on to the ranks' streams in the order of the calls; only what needs the host in the
 * middle, which is a collective or a piece of pinned memory that is not free yet, holds back what is behind it.
 */
export class GroupStream extends MultiDeviceStream<GroupBuffer, GroupStep> {
  /** Where collectives are computed: of each rank, and the result. */
  #parts: Float32Array[] = [];
  #sum = new Float32Array(0);
  readonly #devices: readonly Device[];
  /** Whether some ranks are in other processes. */
  readonly #reachesOthers: boolean;

  constructor({ label, devices, streams, ended }: GroupStreamSetup) {
    super('group', { label, streams, staging: devices.map((device) => new RowStaging(device)), ended });
    this.#devices = devices;
    this.#reachesOthers = devices.some(({ flushed }) => flushed);
  }

  upload(source: Uint8Array, target: BufferRange): void {
    this.check('upload target', target, source.byteLength);
    this.queue.push(() => this.each((stream, rank) => stream.upload(source, onRank(target, rank))));
  }

  copy(source: BufferRange, target: BufferRange): void {
    this.check('copy source', source, 0);
    this.check('copy target', target, 0);
    checkCopySizes(source, target, this.label);
    this.queue.push(() =>
      this.each((stream, rank) => stream.copy(onRank(source, rank), onRank(target, rank))),
    );
  }

  /** What rank 0 has: values that are not the same on all ranks are not downloaded. */
  download(source: BufferRange, into: Uint8Array): Promise<void> {
    this.check('download source', source, into.byteLength);
    return this.queue.result(() => this.#first.download(onRank(source, 0), into));
  }

  pack(weight: PackedWeight, rows: WeightRows, from: PinnedRows, target: BufferRange): void {
    this.check('pack target', target, weight.byteLength);
    checkRows({ graph: this.label, weight }, rows, from);
    if (!(weight instanceof GroupWeight && from.pinned instanceof GroupPinned)) {
      const found = 'a weight or memory of a single device';
      fail('BINDING', { graph: this.label, value: 'pack', found, expected: "the group's own" });
    }
    const { pinned } = from;
    this.queue.push(() => this.#packOnAll({ weight, rows, target, from, pinned }));
  }

  protected override ownBuffer(range: BufferRange, use: string): GroupBuffer {
    return groupBuffer(range, use);
  }

  protected override ownStep(step: Step): GroupStep | undefined {
    return step instanceof GroupStep ? step : undefined;
  }

  protected override runOwn(step: GroupStep): void | Promise<void> {
    const [first, ...others] = step.pieces;
    if (first?.kind === 'steps' && others.length === 0) return this.#runTogether(first.ranks);
    return this.#runThroughHost(step);
  }

  get #first(): Stream {
    return this.streams[0] as Stream;
  }

  /** Each rank takes its own. What has to wait for pinned memory holds back what is behind it. */
  #packOnAll(rows: GroupRows): Promise<void> | undefined {
    const waiting = this.streams.flatMap((stream, rank) => this.#packOn(stream, rank, rows) ?? []);
    return waiting.length === 0 ? undefined : Promise.all(waiting).then(() => {});
  }

  /** Out of the file that a rank's process has itself; out of the memory, over its own link; or as the host cuts it out. */
  #packOn(stream: Stream, rank: number, of: GroupRows): Promise<void> | undefined {
    const packed = of.weight.ranks[rank];
    const taken = packed && of.weight.take(rank, of.rows);
    if (!taken) return undefined;
    const { rows, cut, byteLength, fill } = taken;
    const target = onRank(of.target, rank);
    const { offset, maxBytes, file } = of.from;
    if (file && stream.packOwn && packed.hasOwn?.(file.tensor)) {
      stream.packOwn(packed, rows, cutOf(file, cut), target);
      return undefined;
    }
    const { native, bytes } = of.pinned;
    if (native && this.#devices[rank]?.packsCuts) {
      stream.pack(packed, rows, { pinned: native, offset, maxBytes, cut }, target);
      return undefined;
    }
    return (this.staging[rank] as RowStaging).pack(stream, byteLength, {
      fill: (into) => fill(bytes.subarray(offset), into),
      pack: (pinned) => stream.pack(packed, rows, { pinned, offset: 0 }, target),
    });
  }

  /**
   * Runs steps that may wait for one another. Ranks of other processes are told first: this thread may be held up by its own device, and
   * could not tell them while that waits for them.
   */
  #runTogether(ranks: readonly Step[]): void | Promise<void> {
    if (!this.#reachesOthers) return this.#runOn(ranks, false);
    this.#runOn(ranks, true);
    const telling = this.#devices.flatMap((device) => device.flushed?.() ?? []);
    if (telling.length === 0) return this.#runOn(ranks, false);
    return Promise.all(telling).then(() => this.#runOn(ranks, false));
  }

  /** On the ranks of other processes, or on those of this one. */
  #runOn(ranks: readonly Step[], elsewhere: boolean): void {
    this.each((stream, rank) => {
      const isElsewhere = this.#devices[rank]?.flushed !== undefined;
      if (isElsewhere === elsewhere) stream.run(ranks[rank] as Step);
    });
  }

  /** Runs a step whose collectives the host computes, of the rows that are in use. */
  async #runThroughHost({ pieces }: GroupStep): Promise<void> {
    let counts: Int32Array | undefined;
    for (const piece of pieces) {
      if (piece.kind === 'steps') this.each((stream, rank) => stream.run(piece.ranks[rank] as Step));
      else {
        counts ??= await this.#countsOf(piece);
        await this.#compute(piece, counts[piece.count] as number);
      }
    }
  }

  async #countsOf({ counts }: BoundCollective): Promise<Int32Array> {
    const found = new Int32Array(2);
    await this.#first.download(counts, new Uint8Array(found.buffer));
    return found;
  }

  async #compute({ op, xs, outs }: BoundCollective, rows: number): Promise<void> {
    if (rows === 0) return;
    const widths = op.kind === 'allGather' ? op.widths : xs.map(() => op.x.width);
    const parts = widths.map((width, rank) => this.#part(rank, rows * width));
    // The uploads of the result before are done when these downloads are: its memory is free again.
    await Promise.all(
      this.streams.map((stream, rank) =>
        stream.download(xs[rank] as BufferRange, bytesOf(parts[rank] as Float32Array)),
      ),
    );
    const length = rows * op.out.width;
    if (this.#sum.length < length) this.#sum = new Float32Array(length);
    const out = this.#sum.subarray(0, length);
    computeCollective(op, parts, { rows, out });
    this.each((stream, rank) => stream.upload(bytesOf(out), outs[rank] as BufferRange));
  }

  #part(rank: number, length: number): Float32Array {
    if ((this.#parts[rank]?.length ?? 0) < length) this.#parts[rank] = new Float32Array(length);
    return (this.#parts[rank] as Float32Array).subarray(0, length);
  }
}

/** Where in the file rows are that are cut out of others: from the first one of the cut on. */
function cutOf({ tensor, offset }: FileRows, { stride, rows, bytes }: RowCut): FileRows {
  const first = rows[0]?.start ?? 0;
  const own = rows.map(({ start, end }) => ({ start: start - first, end: end - first }));
  return { tensor, offset: offset + first * stride, cut: { stride, rows: own, bytes } };
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
