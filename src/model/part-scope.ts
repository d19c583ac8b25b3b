import { fail } from '../base/errors.ts';
import type { TensorInfo } from '../gguf/tensor-info.ts';
import { formatUnder, type WeightPolicy } from '../formats/weight-policy.ts';
import { embed } from '../ops/embed.ts';
import type { GraphBuilder } from '../ops/graph.ts';
import type { Tensor, Weight } from '../ops/value.ts';
import {
  EMBEDDING_TABLE,
  type EmbeddingPlaces,
  HOST_LAYER_ROWS,
  HOST_ROWS,
  PER_LAYER_TABLE,
} from './embedding-place.ts';

/** Finds a file's tensors by name. */
export type TensorIndex = ReadonlyMap<string, TensorInfo>;

/** The part of a model that is recorded, with its options. */
export interface PartOptions {
  /** The prefix of the part's weights' names in the file. */
  readonly prefix: string;
  /** Maximum positions of a sequence. */
  readonly context: number;
  /** Format of matrices on the device. */
  readonly weights: WeightPolicy;
  /** Where the embeddings are. */
  readonly embedding: EmbeddingPlaces;
  /** Number of adapters, and maximum per row. */
  readonly adapters?: { readonly count: number; readonly perRow: number } | undefined;
}

/**
 * What an architecture records one part of the model with: the graph builder, the options and the part's weights.
 * Weights are named without `prefix` (`blk.3.`), so that equal layers record equal graphs.
 */
export class PartScope {
  constructor(
    readonly g: GraphBuilder,
    readonly config: { readonly architecture: string; readonly width: number },
    readonly tensors: TensorIndex,
    readonly of: PartOptions,
  ) {}

  /** The prefix of the part's weights' names in the file. */
  get prefix(): string {
    return this.of.prefix;
  }

  /** Maximum positions of a sequence. */
  get context(): number {
    return this.of.context;
  }

  /** Whether the file has a tensor of this name. */
  has(name: string): boolean {
    return this.tensors.has(this.prefix + name);
  }

  /** A required weight of `rows` rows; a vector has one row. */
  weight(name: string, rows: number, columns: number): Weight {
    const found = this.optional(name, rows, columns);
    if (found) return found;
    fail('MODEL_TENSOR_MISSING', { tensor: this.prefix + name, architecture: this.config.architecture });
  }

  /** The stacked weights of `count` experts, `rows` rows each: a weight of `count * rows` rows. */
  expertWeight(name: string, { count, rows }: { count: number; rows: number }, columns: number): Weight {
    return this.weight(name, count * rows, columns);
  }

  /** A required vector of `length` values that files store as a column, [1, length]. */
  column(name: string, length: number): Weight {
    const tensor = this.#required(name);
    checkShape(tensor, length, 1);
    return this.g.weight(name, formatUnder(this.of.weights, tensor.format, 1), 1, length);
  }

  /** A required list of `length` values, each of them a row: the tensor is a vector, [length]. */
  list(name: string, length: number): Weight {
    const tensor = this.#required(name);
    checkShape(tensor, 1, length);
    return this.g.weight(name, formatUnder(this.of.weights, tensor.format, length), length, 1);
  }

  #required(name: string): TensorInfo {
    const tensor = this.tensors.get(this.prefix + name);
    if (tensor) return tensor;
    fail('MODEL_TENSOR_MISSING', { tensor: this.prefix + name, architecture: this.config.architecture });
  }

  /** The weight, or undefined if the file does not have it. Throws `MODEL_TENSOR_SHAPE` if its shape is wrong. */
  optional(name: string, rows: number, columns: number): Weight | undefined {
    const tensor = this.tensors.get(this.prefix + name);
    if (!tensor) return undefined;
    checkShape(tensor, rows, columns);
    return this.g.weight(name, formatUnder(this.of.weights, tensor.format, rows), rows, columns);
  }

  /**
   * Looks token ids up in an embedding, by default `token_embd.weight`: f32 [rows, width]. If the table stays on the
   * host, the rows are an input of the step.
   */
  embed(ids: Tensor, table = EMBEDDING_TABLE, width = this.config.width): Tensor {
    const rows = this.rowsOf(table, width);
    const isPerLayer = table === PER_LAYER_TABLE;
    const place = this.of.embedding[isPerLayer ? 'perLayer' : 'tokens'];
    if (place === 'device') return embed(this.g, this.weight(table, rows, width), ids);
    const tensor = this.tensors.get(table);
    if (tensor) checkShape(tensor, rows, width);
    return this.g.input(isPerLayer ? HOST_LAYER_ROWS : HOST_ROWS, { axis: 'rows', width });
  }

  /** Rows of a matrix of `columns` columns, for sizes that only the tensor defines (the vocabulary). */
  rowsOf(name: string, columns: number): number {
    const tensor = this.tensors.get(this.prefix + name);
    if (!tensor) fail('MODEL_TENSOR_MISSING', { tensor: name, architecture: this.config.architecture });
    const rows = Math.floor(tensor.elementCount / columns);
    if (rows === 0) fail('MODEL_TENSOR_SHAPE', shapeParams(tensor, `[${columns}, at least 1]`));
    return rows;
  }
}

function checkShape(tensor: TensorInfo, rows: number, columns: number): void {
  if (tensor.shape[0] === columns && tensor.elementCount === rows * columns) return;
  fail('MODEL_TENSOR_SHAPE', shapeParams(tensor, rows === 1 ? `[${columns}]` : `[${columns}, ${rows}]`));
}

function shapeParams({ name, shape }: TensorInfo, expected: string) {
  return { tensor: name, found: `[${shape.join(', ')}]`, expected };
}
