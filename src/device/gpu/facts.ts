import type { AttentionOp, Weight } from '../../ops/index.ts';
import type { ActivationForm, HalfType, OptionalKind, RoundedForm } from './intent.ts';

/** The capabilities of a GPU and of a device's kernels that plans depend on. */
export interface GpuFacts<Lacks extends OptionalKind = OptionalKind> {
  /** The device's name in messages. */
  readonly device: string;
  /** Intents for which the device has no kernels, or which the GPU cannot run. */
  readonly lacks: readonly Lacks[];
  /** Maximum rows of the kernels of few rows: of products by unquantized weights, and by those of each choice of experts. */
  readonly fewRows: number;
  /** Maximum rows of matrix-vector kernels of packed weights. */
  readonly matvecRows: number;
  /** The form in which a product of more rows, so many, by packed weights reads activations. */
  productForm(weights: readonly Weight[], rows: number): ActivationForm;
  /** Rows from which on a BLAS library is faster by weights that have dequantized copies. */
  readonly copiedRows: number;
  /** Products of few rows by f16 or bf16 weights that read these once; undefined if there are none. */
  readonly splitKernels: SplitFacts | undefined;
  /** Small products of many rows that one launch computes together; undefined if there are none. */
  readonly elementTiles: ElementTileFacts | undefined;
  /** Whether unquantized weights are multiplied by the same kernels as packed ones, with the same epilogues. */
  readonly takesNumbers: boolean;
  /**
   * Whether independent products of few rows by unquantized weights are one launch whatever their formats and sizes, so that small ones run beside
   * large ones.
   */
  readonly mixesProducts: boolean;
  /** Whether such products of few rows may write their rows side by side, and combine gates with ups. */
  readonly fusesNumbers: boolean;
  /** Whether weights can be stacked in one buffer that a kernel binds. */
  joins(weights: readonly Weight[]): boolean;
  /** Maximum buffers that a kernel binds. */
  readonly buffers: number;
  /** Whether a kernel that writes to a buffer cannot bind another part of it as well. */
  readonly bindsOnce: boolean;
  /** Bytes of quantized rows that a matrix-vector kernel can stage in addition to its own memory. */
  readonly stagedBytes: number;
  /**
   * Outputs of gate and up from which on matrix-vector kernels quantize them; of fewer, workgroups take fewer than a group's, so
   * that there are enough of them.
   */
  readonly minQuantizedOutputs: number;
  /** Numbers of a tensor up to which the kernels of few rows send their sums to the other ranks themselves. */
  readonly mostPushed: number;
  /** Elements to which rows of f16 activations are padded: only conversions do that. */
  readonly f16RowUnit: number;
  readonly attention: AttentionFacts;
  readonly experts: ExpertFacts;
  readonly wkv7: Wkv7Facts;
}

/** Products of both halves of activations that read the weights once, with the epilogues of those by packed weights. */
export interface SplitFacts {
  /** Fewest rows, for which products of few rows are better computed so, and most. */
  readonly least: number;
  readonly rows: number;
  /** Maximum weights, stacked. */
  readonly weights: number;
  readonly types: readonly HalfType[];
}

/** Products of one launch, each with elementwise operators behind it, of more rows than matrix-vector kernels take. */
export interface ElementTileFacts {
  /** Fewest and most rows. */
  readonly rows: { readonly least: number; readonly most: number };
  /** The formats of weights: of f16 and bf16, activations are rounded to them, of f32 they are not. */
  readonly formats: readonly string[];
}

/** Capabilities of a target's attention kernels. */
export interface AttentionFacts {
  /** Query heads of one key head that a workgroup computes at once, of so many rows. */
  headsAtOnce(op: AttentionOp, rows: number): number;
  /** Number of workgroups that keep the GPU busy, partitions of so many rows' contexts among them. */
  wantedGroups(op: AttentionOp, rows: number): number;
  /** Minimum positions of a context partition. */
  readonly shortestPartition: number;
  /** Most partitions of a context, however long: the kernels that merge them have room for so many. */
  readonly mostPartitions: number;
  /**
   * Whether the last workgroup of a row can merge the partitions, by means of counters that the previous launch zeroes.
   */
  readonly mergesInLastGroup: boolean;
  /** Output forms of row-by-row kernels, and of tiled ones. */
  readonly rowForms: readonly ActivationForm[];
  readonly tileForms: readonly (ActivationForm | RoundedForm)[];
  /** True if a tile for the operator fits on the target. */
  fitsTile(op: AttentionOp): boolean;
  /** Whether products append their results to a cache of blocks: never, or only with interleaved RoPE pairs. */
  readonly appendsBlocks: 'never' | 'interleaved';
}

/** Capabilities of a target's kernels for routed experts. */
export interface ExpertFacts {
  /** Whether kernels quantize few rows themselves. */
  readonly readsNumbers: boolean;
  /**
   * The form in which kernels read the choices of many rows grouped by expert; undefined if there are no such kernels.
   */
  readonly groupedForm: ActivationForm | undefined;
  /** Whether gate and up may be halves of one product. */
  readonly joinsHalves: boolean;
}

/** Which heads a target's kernels for RWKV-7's recurrence support. */
export interface Wkv7Facts {
  /** The head size for which prompts are processed in chunks; undefined if none is. */
  readonly chunkedHead: number | undefined;
  /** For the fused recurrence: the unit and the maximum of head sizes; undefined if it is not supported. */
  readonly fusedHead: { readonly unit: number; readonly max: number } | undefined;
}
