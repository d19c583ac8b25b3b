import { fail } from '../../base/errors.ts';
import { memoryTensor } from '../../gguf/memory-tensor.ts';
import type { TensorInfo } from '../../gguf/tensor-info.ts';
import type { TensorIndex } from '../part-scope.ts';
import { isAdaptable, type LoraAdapter } from './lora-adapter.ts';

/** Maximum adapters of a row. */
export const MAX_ADAPTERS_PER_ROW = 4;

/** Ranks are padded with zeros to multiples of this, which suits devices. */
const RANK_UNIT = 8;

/** An adapter of the set by index, with its scale. */
export interface AdapterChoice {
  readonly index: number;
  readonly name?: string | undefined;
  readonly scale: number;
}

/** Room for adapters that are loaded later. */
export interface AdapterRoom {
  /** Maximum adapters, including those that are there from the beginning. */
  readonly count: number;
  /** Their maximum rank. */
  readonly rank: number;
}

/** An adapter that is in the set. */
interface Member {
  readonly name: string;
  /** For requests that name no adapters: 0 if not applied by default. */
  scale: number;
}

/** The factors of all adapters for one matrix. */
interface Stack {
  readonly columns: number;
  readonly rows: number;
  readonly rank: number;
  /** [count * rank, columns]. */
  readonly a: Float32Array;
  /** [count * rows, rank]. */
  readonly b: Float32Array;
}

/**
 * A model's adapters, with their factors for each matrix stacked, so that rows select them like experts: f32
 * `<tensor>.lora_a` of [count * rank, columns] and `<tensor>.lora_b` of [count * rows, rank]. Adapters can come and go as
 * far as there was room for them from the beginning; the tensors then have other contents, and have to be loaded again.
 */
export class AdapterSet {
  readonly tensors: TensorIndex;
  /** How many adapters there may be. */
  readonly count: number;
  readonly #stacks: ReadonlyMap<string, Stack>;
  /** In order of their indices. */
  readonly #members: Member[] = [];

  private constructor(stacks: ReadonlyMap<string, Stack>, count: number) {
    this.#stacks = stacks;
    this.count = count;
    this.tensors = new Map(
      [...stacks].flatMap(([target, stack]) => tensorsOf(target, stack).map((one) => [one.name, one])),
    );
  }

  /**
   * Reads all factors into memory; `scale` is each adapter's default. With `room`, every matrix that adapters can change
   * gets room for more. Rejects with `INVALID_ARGUMENT` if too many apply by default, `ADAPTER_ROOM`, and with errors of
   * reading.
   */
  static async load(
    of: readonly (readonly [LoraAdapter, scale: number])[],
    base: TensorIndex,
    room: AdapterRoom = { count: 0, rank: 0 },
  ): Promise<AdapterSet> {
    const adapters = of.map(([adapter]) => adapter);
    const count = Math.max(adapters.length, room.count);
    const more = room.count > 0 ? [...base.values()].filter(isAdaptable).map(({ name }) => name) : [];
    const targets = new Set([...adapters.flatMap(({ pairs }) => [...pairs.keys()]), ...more]);
    const stacks = new Map<string, Stack>();
    for (const target of targets) {
      const [columns = 0, rows = 0] = base.get(target)?.shape ?? [];
      const most = Math.max(room.rank, ...adapters.map((adapter) => adapter.rankOf(target)));
      const rank = Math.ceil(most / RANK_UNIT) * RANK_UNIT;
      const [a, b] = [new Float32Array(count * rank * columns), new Float32Array(count * rows * rank)];
      stacks.set(target, { columns, rows, rank, a, b });
    }
    const set = new AdapterSet(stacks, count);
    for (const [adapter, scale] of of) (await set.prepare(adapter, scale))();
    chooseAdapters(set.standard);
    return set;
  }

  /** Names and default scales, in order of their indices. */
  get standard(): ReadonlyMap<string, number> {
    return new Map(this.#members.map(({ name, scale }) => [name, scale]));
  }

  /** Maximum adapters of a row. */
  get perRow(): number {
    return Math.min(this.count, MAX_ADAPTERS_PER_ROW);
  }

  /**
   * Reads an adapter; the function puts it into the set, in the place of one of the same name. Rejects with
   * `ADAPTER_INVALID` if its rank or one of its matrices has no room, and with errors of reading; the function throws
   * `ADAPTER_ROOM`.
   */
  async prepare(adapter: LoraAdapter, scale: number): Promise<() => void> {
    const { name } = adapter;
    const factors = new Map<Stack, { a: Float32Array; b: Float32Array; rank: number }>();
    for (const target of adapter.pairs.keys()) {
      const stack = this.#stacks.get(target);
      const rank = adapter.rankOf(target);
      if (!stack || rank > stack.rank) {
        const expected = stack ? `a rank up to ${stack.rank}` : 'matrices that have room for adapters';
        fail('ADAPTER_INVALID', { adapter: name, found: `${target} of rank ${rank}`, expected });
      }
      const read = await adapter.factors(target);
      if (read) factors.set(stack, { ...read, rank });
    }
    return () => {
      const known = this.#members.findIndex((member) => member.name === name);
      const index = known < 0 ? this.#members.length : known;
      if (index >= this.count) fail('ADAPTER_ROOM', { adapter: name, most: this.count });
      this.#clear(index);
      for (const [stack, { a, b, rank }] of factors) write(stack, index, { a, b, rank });
      this.#members[index] = { name, scale };
    };
  }

  /** Removes an adapter; the last one takes its index. Throws `INVALID_ARGUMENT` if there is none of the name. */
  remove(name: string): void {
    const index = this.#indexOf(name);
    const last = this.#members.length - 1;
    for (const { a, b, rank, columns, rows } of this.#stacks.values()) {
      a.copyWithin(index * rank * columns, last * rank * columns, (last + 1) * rank * columns);
      b.copyWithin(index * rows * rank, last * rows * rank, (last + 1) * rows * rank);
    }
    this.#clear(last);
    this.#members[index] = this.#members[last] as Member;
    this.#members.pop();
  }

  /** Sets default scales. Throws `INVALID_ARGUMENT` for unknown adapters, or too many that apply; nothing is set then. */
  rescale(scales: ReadonlyMap<string, number>): void {
    const wanted = new Map([...this.standard, ...scales]);
    chooseAdapters(this.standard, wanted);
    for (const [name, scale] of scales) (this.#members[this.#indexOf(name)] as Member).scale = scale;
  }

  #indexOf(name: string): number {
    const index = this.#members.findIndex((member) => member.name === name);
    if (index >= 0) return index;
    const expected = this.#members.map((member) => member.name).join(', ') || 'none: none is loaded';
    return fail('INVALID_ARGUMENT', { name: 'adapters', found: name, expected });
  }

  #clear(index: number): void {
    for (const { a, b, rank, columns, rows } of this.#stacks.values()) {
      a.fill(0, index * rank * columns, (index + 1) * rank * columns);
      b.fill(0, index * rows * rank, (index + 1) * rows * rank);
    }
  }
}

/** Whether a tensor of the model holds factors of adapters. */
export function isAdapterTensor(name: string): boolean {
  return /\.lora_[ab]$/.test(name);
}

/**
 * Resolves names and scales for a model opened with the adapters of `standard`, which applies if none are named;
 * adapters with scale 0 are dropped. Throws `INVALID_ARGUMENT` for unknown adapters, or too many.
 */
export function chooseAdapters(
  standard: ReadonlyMap<string, number>,
  wanted: ReadonlyMap<string, number> = standard,
): AdapterChoice[] {
  const names = [...standard.keys()];
  const choices = [...wanted].map(([name, scale]) => {
    const index = names.indexOf(name);
    if (index >= 0 && Number.isFinite(scale)) return { index, name, scale };
    const expected = names.length === 0 ? 'none: none were loaded' : `finite scales of ${names.join(', ')}`;
    return fail('INVALID_ARGUMENT', { name: 'adapters', found: `${name}: ${scale}`, expected });
  });
  const counting = choices.filter(({ scale }) => scale !== 0);
  const most = Math.min(standard.size, MAX_ADAPTERS_PER_ROW);
  if (counting.length > most) {
    const found = `${counting.length} at once`;
    fail('INVALID_ARGUMENT', { name: 'adapters', found, expected: `at most ${most}` });
  }
  return counting;
}

/** Writes an adapter's factors of one matrix into its place, which is zero. */
function write(
  stack: Stack,
  index: number,
  { a, b, rank: own }: { a: Float32Array; b: Float32Array; rank: number },
): void {
  const { rank, columns, rows } = stack;
  stack.a.set(a, index * rank * columns);
  for (let row = 0; row < rows; row++) {
    stack.b.set(b.subarray(row * own, (row + 1) * own), (index * rows + row) * rank);
  }
}

function tensorsOf(target: string, { a, b, columns, rows, rank }: Stack): [TensorInfo, TensorInfo] {
  const count = a.length / (rank * columns);
  return [
    memoryTensor(`${target}.lora_a`, a, [columns, count * rank]),
    memoryTensor(`${target}.lora_b`, b, [rank, count * rows]),
  ];
}
