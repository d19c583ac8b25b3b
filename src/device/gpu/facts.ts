import type { AttentionOp, Weight } from '../../ops/index.ts';
import type { ActivationForm, OptionalKind } from './intent.ts';

/** What a GPU and a device's kernels can do, as far as plans depend on it. */
export interface GpuFacts<Lacks extends OptionalKind = OptionalKind> {
  /** The device's name in messages. */
  readonly device: string;
  /** Intents that the device has no kernels for, or that the GPU cannot run. */
  readonly lacks: readonly Lacks[];
  /** Rows that matrix-vector kernels take at once. */
  readonly matvecRows: number;
  /** The form in which products of more rows by packed weights read activations. */
  readonly productForm: ActivationForm;
  /** True where unquantized weights are multiplied by the same kernels as packed ones, with the same epilogues. */
  readonly takesNumbers: boolean;
  /** True for weights that can be laid out one below the other in what a kernel binds. */
  joins(weights: readonly Weight[]): boolean;
  /** Buffers that a kernel binds at most. */
  readonly buffers: number;
  /** True where a kernel that writes to a buffer cannot bind one part of it twice. */
  readonly bindsOnce: boolean;
  /** Bytes of quantized rows that a matrix-vector kernel has room for beside its own. */
  readonly stagedBytes: number;
  /** Elements to which rows of f16 activations are filled up: only conversions do that. */
  readonly f16RowUnit: number;
  readonly attention: AttentionFacts;
  readonly experts: ExpertFacts;
  readonly wkv7: Wkv7Facts;
}

/** What a target's kernels for attention can do. */
export interface AttentionFacts {
  /** Groups of threads that give the GPU enough to do. */
  readonly wantedGroups: number;
  /** Positions that a partition of the context has at least. */
  readonly shortestPartition: number;
  /** Whether the last of a row's groups can merge the partitions, told by counters that the launch before zeroes. */
  readonly mergesInLastGroup: boolean;
  /** Forms in which kernels that go row by row, and those in tiles, can leave their results. */
  readonly rowForms: readonly ActivationForm[];
  readonly tileForms: readonly ActivationForm[];
  /** True where a tile for the operator has room on the target. */
  fitsTile(op: AttentionOp): boolean;
  /** Whether products append what they compute to a cache of blocks: never, or where heads' pairs are neighbours. */
  readonly appendsBlocks: 'never' | 'interleaved';
}

/** What a target's kernels for routed experts can do. */
export interface ExpertFacts {
  /** Whether kernels quantize few rows for themselves. */
  readonly readsNumbers: boolean;
  /** The form in which kernels that bring the choices of many rows together by expert read them; undefined where there are none. */
  readonly groupedForm: ActivationForm | undefined;
}

/** Which heads a target's kernels for RWKV-7's recurrence take. */
export interface Wkv7Facts {
  /** The size of heads that go through prompts in chunks; undefined where none do. */
  readonly chunkedHead: number | undefined;
  /** Of the fused recurrence: what heads are multiples of, and the largest; undefined where none are taken. */
  readonly fusedHead: { readonly unit: number; readonly max: number } | undefined;
}
