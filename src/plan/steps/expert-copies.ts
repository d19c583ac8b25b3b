import { asBytes } from '../../base/bytes.ts';
import { fail, invariant } from '../../base/errors.ts';
import type { BufferRange, Device, Stream } from '../../device/index.ts';
import type { LazyTensor } from '../../load/lazy-tensor.ts';
import { EXPERT_COPIES, EXPERT_USES, type HotExpertsOfLayer } from '../../model/expert-place.ts';
import { stateName } from '../../model/model-graphs.ts';
import type { PlanBuffers } from '../memory/plan-buffers.ts';
import { ExpertScores } from '../weights/expert-scores.ts';
import type { ExpertCounts } from '../weights/expert-weights.ts';
import type { BatchPlan } from './batch-plan.ts';

/** Token rows after which the uses that the device has counted are read. */
const ROWS_A_ROUND = 16;
/** Experts that are copied in a round: more would take the link from the steps. */
const COPIES_A_ROUND = 512;

/** An expert that gets a copy, in the place of another one's or in a free slot. */
interface Move {
  readonly layer: LayerCopies;
  readonly expert: number;
  readonly slot: number;
  /** How many more uses of late the expert has than the one before it. */
  readonly gain: number;
}

/**
 * A change of the copies. `busy`: the uses are on their way to the host, or the experts to their slots. `chosen`: these are known, and
 * the slots are taken from others with the next step. `copied`: they are there, and steps may read them from the next one on.
 */
type Round =
  { readonly is: 'idle' | 'busy' } | { readonly is: 'chosen' | 'copied'; readonly moves: readonly Move[] };

const IDLE: Round = { is: 'idle' };
const BUSY: Round = { is: 'busy' };

/**
 * Keeps copies of the most used experts on the device; all of them are in the host's memory. Steps need no host for this: kernels
 * count the uses and look up in a table where an expert is. Now and then the host reads the uses between two steps, and has some
 * experts copied on a stream of its own. A slot's expert leaves the table before the slot is written, behind all steps that may read it,
 * and the new one enters once its copy is complete: the tables are uploaded in the order of the steps.
 */
export class ExpertCopies implements AsyncDisposable {
  readonly counts: ExpertCounts = { hits: 0, misses: 0, prefetched: 0, prefetchedUsed: 0, bytes: 0 };
  readonly #layers: readonly LayerCopies[];
  /** Of all layers, one behind another: the copy of each expert or -1, and its uses as far as they were read. */
  readonly #tables: { readonly words: Int32Array; readonly range: BufferRange };
  readonly #uses: { words: Int32Array; readonly range: BufferRange };
  readonly #device: Device;
  #isWritten = false;
  #rows = 0;
  #round: Round = IDLE;
  #work: Promise<void> = Promise.resolve();

  /**
   * `weights` are those of each part of the model. Creates the tables in `buffers`. Throws `INVALID_ARGUMENT` for a model whose memory
   * others may take.
   */
  constructor(
    plan: BatchPlan,
    weights: readonly (readonly LazyTensor[])[],
    { buffers, sharedMemory }: { readonly buffers: PlanBuffers; readonly sharedMemory?: unknown },
  ) {
    if (sharedMemory) {
      const expected = 'device or stream: a model that shares its memory may lose the copies of its experts';
      fail('INVALID_ARGUMENT', { name: 'experts', found: 'host', expected });
    }
    const parts = plan.parts.flatMap(({ part }, index) =>
      part.hotExperts ? [{ part, experts: part.hotExperts, tensors: weights[index] ?? [] }] : [],
    );
    const table = (name: string): BufferRange => {
      const sizes = parts.map(({ part, experts }) => [stateName(part, { name }), 4 * experts.count] as const);
      return buffers.createShared(`${name} of all layers`, new Map(sizes));
    };
    const [copies, uses] = [table(EXPERT_COPIES), table(EXPERT_USES)];
    this.#tables = { words: new Int32Array(copies.byteLength / 4).fill(-1), range: copies };
    this.#uses = { words: new Int32Array(uses.byteLength / 4), range: uses };
    this.#layers = parts.map(({ part, experts, tensors }) => {
      const first = buffers.get(stateName(part, { name: EXPERT_COPIES })).offset / 4;
      return new LayerCopies(experts, tensors, this.#tables.words.subarray(first, first + experts.count));
    });
    this.#device = buffers.device;
  }

  /** Queues, before a step of so many rows, what has to change between it and the step before. */
  turn(stream: Stream, rows: number): void {
    if (!this.#isWritten) {
      stream.upload(asBytes(this.#uses.words), this.#uses.range);
      this.#uploadTables(stream);
      this.#isWritten = true;
    }
    const round = this.#round;
    if (round.is === 'chosen') this.#copy(stream, round.moves);
    else if (round.is === 'copied') this.#show(stream, round.moves);
    else if (round.is === 'idle' && this.#rows >= ROWS_A_ROUND) this.#read(stream);
    this.#rows += rows;
  }

  /** Forgets all copies, before the weights change; nothing runs meanwhile. */
  async clear(): Promise<void> {
    await this.#work;
    this.#round = IDLE;
    for (const layer of this.#layers) layer.clear();
    this.#uses.words.fill(0);
    this.#isWritten = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#work;
  }

  /** Reads what the steps so far have counted. */
  #read(stream: Stream): void {
    const found = new Int32Array(this.#uses.words.length);
    this.#rows = 0;
    this.#after(stream.download(this.#uses.range, asBytes(found)), () => {
      const before = this.#uses.words;
      this.#uses.words = found;
      const moves = this.#layers.flatMap((layer) => {
        layer.count(before, found, this.counts);
        return layer.moves();
      });
      moves.sort((a, b) => b.gain - a.gain);
      return moves.length > 0 ? { is: 'chosen', moves: moves.slice(0, COPIES_A_ROUND) } : IDLE;
    });
  }

  /** Takes the slots from their experts, and copies others there behind the steps that may read them. */
  #copy(stream: Stream, moves: readonly Move[]): void {
    for (const { layer, slot } of moves) layer.free(slot);
    this.#uploadTables(stream);
    // An error of the step's stream passes to one that waits for it, and stays: each round has its own.
    const own = this.#device.createStream('copies of experts');
    own.wait(stream.record());
    for (const { layer, expert, slot } of moves) {
      for (const { from, to } of layer.ranges(expert, slot)) {
        own.copy(from, to);
        this.counts.bytes += to.byteLength;
      }
    }
    this.#after(ended(own), () => ({ is: 'copied', moves }));
  }

  /** Enters complete copies into the tables. */
  #show(stream: Stream, moves: readonly Move[]): void {
    for (const { layer, expert, slot } of moves) layer.take(expert, slot);
    this.#uploadTables(stream);
    this.#round = IDLE;
  }

  /** As they are now: they may change again before the device has them. */
  #uploadTables(stream: Stream): void {
    stream.upload(asBytes(this.#tables.words.slice()), this.#tables.range);
  }

  /** What follows some work. An error is that of the step before it, or of the device, which others see. */
  #after(work: Promise<void>, next: () => Round): void {
    this.#round = BUSY;
    const end = (round: Round): void => {
      this.#round = round;
    };
    this.#work = work.then(
      () => end(next()),
      () => end(IDLE),
    );
  }
}

/** Waits for a stream's work, and disposes it. Rejects with its error. */
async function ended(stream: Stream): Promise<void> {
  try {
    await stream.synchronize();
  } finally {
    await stream[Symbol.asyncDispose]();
  }
}

/** The copies of a layer's experts. */
class LayerCopies {
  readonly #experts: HotExpertsOfLayer;
  readonly #weights: readonly { readonly all: LazyTensor; readonly copies: LazyTensor }[];
  /** By expert: its copy, or -1. */
  readonly #table: Int32Array;
  /** By slot: the expert that it has a copy of, or -1. */
  readonly #held: Int32Array;
  readonly #scores: ExpertScores;

  /** `table` is the layer's part of the words of all layers. */
  constructor(experts: HotExpertsOfLayer, tensors: readonly LazyTensor[], table: Int32Array) {
    this.#experts = experts;
    this.#table = table;
    this.#held = new Int32Array(experts.slots).fill(-1);
    this.#scores = new ExpertScores(experts.count);
    const nameOf = ({ names }: LazyTensor) => names.join(' ');
    this.#weights = tensors
      .filter(({ isOnHost }) => isOnHost)
      .map((all) => {
        const { layout } = all.packed;
        const copies = tensors.find(
          (tensor) => tensor.isCopy && tensor.packed.layout === layout && nameOf(tensor) === nameOf(all),
        );
        invariant(copies, `${all.key} has room for copies`);
        return { all, copies };
      });
  }

  /** Takes over what was counted between two reads of all layers' words, and tells how much of it was by copies. */
  count(before: Int32Array, after: Int32Array, counts: ExpertCounts): void {
    const first = this.#table.byteOffset / 4;
    let choices = 0;
    for (let expert = 0; expert < this.#experts.count; expert++) {
      // The device counts up to 2^32 and goes on from zero.
      const uses = ((after[first + expert] as number) - (before[first + expert] as number)) >>> 0;
      this.#scores.add(expert, uses);
      if ((this.#table[expert] as number) >= 0) counts.hits += uses;
      else counts.misses += uses;
      choices += uses;
    }
    this.#scores.age(choices / this.#experts.topK);
  }

  /** The experts without copies that were used more than some with one, beyond what chance makes of counts like these. */
  moves(): Move[] {
    if (!this.#weights.every(({ all, copies }) => all.isResident && copies.isResident)) return [];
    const score = (expert: number) => (expert < 0 ? 0 : this.#scores.of(expert));
    const outside = [...this.#table.keys()].filter(
      (expert) => (this.#table[expert] as number) < 0 && score(expert) > 0,
    );
    outside.sort((a, b) => score(b) - score(a));
    const held = (slot: number) => this.#held[slot] as number;
    const isHeld = (slot: number) => (held(slot) < 0 ? 0 : 1);
    const slots = [...this.#held.keys()].sort(
      (a, b) => isHeld(a) - isHeld(b) || score(held(a)) - score(held(b)),
    );
    const moves: Move[] = [];
    for (const [i, expert] of outside.entries()) {
      const slot = slots[i];
      if (slot === undefined) break;
      const [own, other] = [score(expert), score(held(slot))];
      const noise = held(slot) < 0 ? 0 : Math.sqrt(own + other);
      if (own - other <= noise) break;
      moves.push({ layer: this, expert, slot, gain: own - other });
    }
    return moves;
  }

  /** Where an expert's matrices are, and where they are copied to. */
  ranges(expert: number, slot: number): { readonly from: BufferRange; readonly to: BufferRange }[] {
    const { count } = this.#experts;
    return this.#weights.map(({ all, copies }) => {
      const byteLength = all.byteLength / count;
      const at = ({ buffer, offset }: BufferRange, index: number): BufferRange => {
        return { buffer, offset: offset + index * byteLength, byteLength };
      };
      return { from: at(all.range, expert), to: at(copies.range, slot) };
    });
  }

  /** Takes a slot's expert out of the table. */
  free(slot: number): void {
    const expert = this.#held[slot] as number;
    if (expert >= 0) this.#table[expert] = -1;
    this.#held[slot] = -1;
  }

  /** Enters an expert whose copy is complete. */
  take(expert: number, slot: number): void {
    this.#table[expert] = slot;
    this.#held[slot] = expert;
  }

  clear(): void {
    this.#table.fill(-1);
    this.#held.fill(-1);
  }
}
