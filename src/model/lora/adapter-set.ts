import { asBytes } from '../../base/bytes.ts';
import { fail } from '../../base/errors.ts';
import { F32 } from '../../formats/index.ts';
import type { TensorInfo } from '../../gguf/tensor-info.ts';
import { MemorySource } from '../../io/memory-source.ts';
import type { TensorIndex } from '../part-scope.ts';
import type { LoraAdapter } from './lora-adapter.ts';

/** Maximum adapters of a row. */
export const MAX_ADAPTERS_PER_ROW = 4;

/** Ranks are padded with zeros to multiples of this, which suits devices. */
const RANK_UNIT = 8;

/** An adapter of the set by index, with its scale. */
export interface AdapterChoice {
  readonly index: number;
  readonly scale: number;
}

/**
 * A model's adapters, with their factors for each matrix stacked, so that rows select them like experts: f32
 * `<tensor>.lora_a` of [adapters * rank, columns] and `<tensor>.lora_b` of [adapters * rows, rank].
 */
export class AdapterSet {
  private constructor(
    /** Names and default scales, for requests that select none: 0 if not applied by default. */
    readonly standard: ReadonlyMap<string, number>,
    readonly tensors: TensorIndex,
  ) {}

  /**
   * Reads all factors into memory; `scale` is each adapter's default. Rejects with `INVALID_ARGUMENT` if too many apply
   * by default, and with errors of reading.
   */
  static async load(
    of: readonly (readonly [LoraAdapter, scale: number])[],
    base: TensorIndex,
  ): Promise<AdapterSet> {
    const adapters = of.map(([adapter]) => adapter);
    const tensors = new Map<string, TensorInfo>();
    for (const target of new Set(adapters.flatMap(({ pairs }) => [...pairs.keys()]))) {
      const [columns = 0, rows = 0] = base.get(target)?.shape ?? [];
      for (const tensor of await stack(adapters, target, { columns, rows })) tensors.set(tensor.name, tensor);
    }
    const standard = new Map(of.map(([{ name }, scale]) => [name, scale]));
    chooseAdapters(standard);
    return new AdapterSet(standard, tensors);
  }

  /** In order of their indices. */
  get names(): readonly string[] {
    return [...this.standard.keys()];
  }

  /** Maximum adapters of a row. */
  get perRow(): number {
    return Math.min(this.standard.size, MAX_ADAPTERS_PER_ROW);
  }
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
    if (index >= 0 && Number.isFinite(scale)) return { index, scale };
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

/**
 * Stacks the adapters' factors of one matrix into two tensors, with zeros where an adapter has none or a lower rank.
 */
async function stack(
  adapters: readonly LoraAdapter[],
  target: string,
  { columns, rows }: { columns: number; rows: number },
): Promise<[TensorInfo, TensorInfo]> {
  const most = Math.max(...adapters.map((adapter) => adapter.rankOf(target)));
  const rank = Math.ceil(most / RANK_UNIT) * RANK_UNIT;
  const a = new Float32Array(adapters.length * rank * columns);
  const b = new Float32Array(adapters.length * rows * rank);
  for (const [index, adapter] of adapters.entries()) {
    const factors = await adapter.factors(target);
    if (!factors) continue;
    a.set(factors.a, index * rank * columns);
    const own = adapter.rankOf(target);
    for (let row = 0; row < rows; row++) {
      b.set(factors.b.subarray(row * own, (row + 1) * own), (index * rows + row) * rank);
    }
  }
  return [
    inMemory(`${target}.lora_a`, a, [columns, adapters.length * rank]),
    inMemory(`${target}.lora_b`, b, [rank, adapters.length * rows]),
  ];
}

function inMemory(name: string, values: Float32Array, shape: readonly number[]): TensorInfo {
  const { length: elementCount, byteLength } = values;
  const source = new MemorySource(asBytes(values), name);
  return { name, format: F32, shape, elementCount, byteLength, offset: 0, source };
}
