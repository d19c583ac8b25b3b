import { fail } from '../../base/errors.ts';
import type { GgufFile } from '../../gguf/gguf-file.ts';
import { loadTensorFloats, type TensorInfo } from '../../gguf/tensor-info.ts';
import type { TensorIndex } from '../part-scope.ts';

/** The two factors of an adapter's update to a matrix: `scale * b * a`. */
interface LoraPair {
  /** f32 [rank, columns]. */
  readonly a: TensorInfo;
  /** f32 [rows, rank]. */
  readonly b: TensorInfo;
}

/** Matrices of layers that are used only as products. */
const ADAPTABLE = /^blk\.\d+\.[a-z0-9_]+\.weight$/;

/** Whether adapters can change a tensor of the model. */
export function isAdaptable({ name, shape, elementCount }: TensorInfo): boolean {
  return shape.length === 2 && elementCount > 0 && ADAPTABLE.test(name);
}

/**
 * A low-rank adapter (Hu et al. 2021) as llama.cpp writes it: for each matrix `<tensor>.lora_a` and `<tensor>.lora_b`, and one
 * `adapter.lora.alpha`.
 */
export class LoraAdapter {
  private constructor(
    readonly name: string,
    readonly pairs: ReadonlyMap<string, LoraPair>,
    readonly alpha: number,
  ) {}

  /** Reads an adapter's header. Throws `ADAPTER_INVALID` unless it fits a model with these tensors. */
  static read(
    name: string,
    gguf: GgufFile,
    base: { architecture: string; tensors: TensorIndex },
  ): LoraAdapter {
    const { metadata } = gguf;
    const expect = (key: string, expected: string) => {
      const found = metadata.string(key) ?? 'nothing';
      if (found !== expected) fail('ADAPTER_INVALID', { adapter: name, found: `${key} ${found}`, expected });
    };
    expect('general.type', 'adapter');
    expect('adapter.type', 'lora');
    expect('general.architecture', base.architecture);
    const tensors = new Map(gguf.tensors.map((tensor) => [tensor.name, tensor]));
    const pairs = new Map<string, LoraPair>();
    for (const { name: own } of gguf.tensors) {
      const target = /^(.*)\.lora_[ab]$/.exec(own)?.[1];
      const a = tensors.get(`${target}.lora_a`);
      const b = tensors.get(`${target}.lora_b`);
      const matrix = target === undefined ? undefined : base.tensors.get(target);
      if (target === undefined || !a || !b || !matrix || !fits(matrix, { a, b })) {
        const expected = 'pairs of lora_a and lora_b that fit a matrix of a layer';
        fail('ADAPTER_INVALID', { adapter: name, found: own, expected });
      }
      pairs.set(target, { a, b });
    }
    return new LoraAdapter(name, pairs, metadata.number('adapter.lora.alpha') ?? 0);
  }

  /** The rank of the update to a tensor; 0 if there is none. */
  rankOf(target: string): number {
    return this.pairs.get(target)?.a.shape[1] ?? 0;
  }

  /** The factors of the update to a tensor; the scale from alpha and rank is included in `b`. */
  async factors(target: string): Promise<{ a: Float32Array; b: Float32Array } | undefined> {
    const pair = this.pairs.get(target);
    if (!pair) return undefined;
    const [a, b] = await Promise.all([loadTensorFloats(pair.a), loadTensorFloats(pair.b)]);
    const scale = this.alpha === 0 ? 1 : this.alpha / this.rankOf(target);
    return { a, b: b.map((value) => value * scale) };
  }
}

function fits(matrix: TensorInfo, { a, b }: LoraPair): boolean {
  const [columns, rows] = matrix.shape;
  const rank = a.shape[1];
  const right = a.shape[0] === columns && b.shape[1] === rows && b.shape[0] === rank;
  const areMatrices = rank !== undefined && rank > 0 && a.shape.length === 2 && b.shape.length === 2;
  return isAdaptable(matrix) && right && areMatrices;
}
