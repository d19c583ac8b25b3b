/** A forward pass of a Llama and of its drafters in plain loops and doubles, independent of operators and graphs. */
import type { GgufFile } from '../../src/gguf/index.ts';
import { loadTensorFloats } from '../../src/gguf/tensor-info.ts';

type Vector = readonly number[];

/** A file's tensors as numbers. */
export class PlainTensors {
  readonly #values = new Map<string, Float32Array>();

  static async of(gguf: GgufFile): Promise<PlainTensors> {
    const plain = new PlainTensors();
    for (const tensor of gguf.tensors) {
      if (tensor.format.name === 'F32') plain.#values.set(tensor.name, await loadTensorFloats(tensor));
    }
    return plain;
  }

  get(name: string): Float32Array | undefined {
    return this.#values.get(`${name}.weight`);
  }

  need(name: string): Float32Array {
    const found = this.get(name);
    if (!found) throw new Error(`no ${name}`);
    return found;
  }

  row(name: string, index: number, width: number): Vector {
    return Array.from(this.need(name).subarray(index * width, (index + 1) * width));
  }

  product(name: string, x: Vector): Vector {
    const matrix = this.need(name);
    return Array.from({ length: matrix.length / x.length }, (_, row) =>
      x.reduce((sum, value, column) => sum + value * (matrix[row * x.length + column] as number), 0),
    );
  }

  norm(name: string, x: Vector): Vector {
    const factors = this.need(name);
    const scale = 1 / Math.sqrt(x.reduce((sum, value) => sum + value * value, 0) / x.length + 1e-5);
    return x.map((value, i) => value * scale * (factors[i] as number));
  }
}

/** The heads of a layer. */
export interface PlainHeads {
  readonly heads: number;
  readonly kvHeads: number;
  readonly base: number;
}

/** Keys and values of the positions so far. */
export interface PlainCache {
  readonly keys: Vector[];
  readonly values: Vector[];
}

/** The inputs of a Llama's layers, position by position. */
export class PlainInputs {
  readonly #caches: PlainCache[];
  readonly #found: number[][] = [];

  constructor(
    readonly model: PlainTensors,
    readonly of: { readonly layers: number; readonly width: number } & Omit<PlainHeads, 'base'>,
    /** The layers whose inputs are wanted; their number for the last one's result. */
    readonly features: readonly number[],
  ) {
    this.#caches = Array.from({ length: of.layers }, () => ({ keys: [], values: [] }));
  }

  /** What the wanted layers read at the positions of `ids`, side by side. A text goes on from call to call. */
  at(ids: readonly number[]): readonly Vector[] {
    while (this.#found.length < ids.length) {
      const position = this.#found.length;
      this.#found.push(this.#read(ids[position] as number, position));
    }
    return this.#found.slice(0, ids.length);
  }

  #read(id: number, position: number): number[] {
    let x: Vector = this.model.row('token_embd', id, this.of.width);
    const inputs = [x];
    for (const [layer, cache] of this.#caches.entries()) {
      const prefix = `blk.${layer}.`;
      const read = this.model.norm(`${prefix}attn_norm`, x);
      x = plainLayer(this.model, { prefix, read, x, position }, cache, { ...this.of, base: 10_000 });
      inputs.push(x);
    }
    return this.features.flatMap((layer) => [...(inputs[layer] ?? [])]);
  }
}

function rotate(
  x: Vector,
  position: number,
  { size, base, factors }: { size: number; base: number; factors: Vector },
): Vector {
  const out = [...x];
  for (let at = 0; at < x.length; at += 2) {
    const pair = (at % size) / 2;
    const angle = (position * base ** ((-2 * pair) / size)) / (factors[pair] ?? 1);
    const [a, b] = [x[at] as number, x[at + 1] as number];
    out[at] = a * Math.cos(angle) - b * Math.sin(angle);
    out[at + 1] = a * Math.sin(angle) + b * Math.cos(angle);
  }
  return out;
}

/** A decoder layer: attention reads `read` and is added to `x`. */
export function plainLayer(
  tensors: PlainTensors,
  { prefix, read, x, position }: { prefix: string; read: Vector; x: Vector; position: number },
  cache: PlainCache,
  { heads, kvHeads, base }: PlainHeads,
): Vector {
  const [q, k, v] = ['attn_q', 'attn_k', 'attn_v'].map((name) => tensors.product(prefix + name, read)) as [
    Vector,
    Vector,
    Vector,
  ];
  const size = q.length / heads;
  const rope = { size, base, factors: Array.from(tensors.get('rope_freqs') ?? []) };
  const query = rotate(q, position, rope);
  cache.keys[position] = rotate(k, position, rope);
  cache.values[position] = v;
  const mixed = Array.from({ length: heads }, (_, head) => {
    const kv = Math.floor((head * kvHeads) / heads) * size;
    const scores = Array.from({ length: position + 1 }, (_unused, at) => {
      let sum = 0;
      for (let i = 0; i < size; i++)
        sum += (query[head * size + i] as number) * (cache.keys[at]?.[kv + i] as number);
      return sum / Math.sqrt(size);
    });
    const most = Math.max(...scores);
    const weights = scores.map((score) => Math.exp(score - most));
    const total = weights.reduce((a, b) => a + b, 0);
    return Array.from({ length: size }, (_unused, i) =>
      weights.reduce((sum, weight, at) => sum + (weight / total) * (cache.values[at]?.[kv + i] as number), 0),
    );
  }).flat();
  const after = add(x, tensors.product(`${prefix}attn_output`, mixed));
  const normed = tensors.norm(`${prefix}ffn_norm`, after);
  const gate = tensors.product(`${prefix}ffn_gate`, normed);
  const up = tensors.product(`${prefix}ffn_up`, normed);
  const hidden = gate.map((value, i) => (value / (1 + Math.exp(-value))) * (up[i] as number));
  return add(after, tensors.product(`${prefix}ffn_down`, hidden));
}

function add(a: Vector, b: Vector): Vector {
  return a.map((value, i) => value + (b[i] as number));
}
