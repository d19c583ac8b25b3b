import type { PackedWeight, WeightRows } from '../../../device/index.ts';
import type { KernelModule } from '../launching/kernel-module.ts';

/** Bytes that are copied to the weight: `target` is their offset, `fill` writes them. */
export interface HostRows {
  readonly kind: 'host';
  readonly target: number;
  readonly byteLength: number;
  /** Writes the layout's bytes, given the file's. `into` may be longer and have any contents. */
  fill(rows: Uint8Array, into: Uint8Array): void;
  /** Whether the layout's bytes equal the file's. */
  readonly unchanged: boolean;
}

/** Rows that a kernel packs from the file's bytes. */
export interface KernelRows {
  readonly kind: 'kernel';
  readonly module: KernelModule;
  /** The chunk of the weight that contains the rows. */
  readonly target: number;
  readonly byteLength: number;
  /** The offset and the length of the rows in the file's bytes. */
  readonly from: number;
  readonly fromBytes: number;
  /** Words of the kernel's `job`, the first of which is set to `from` plus the offset of the file's bytes. */
  readonly job: readonly number[];
  readonly workgroups: number;
}

/** How rows are brought into the layout. */
export type PackMethod = HostRows | KernelRows;

/** A packed weight with the method by which rows of a part are brought from the file's bytes into its layout. */
export interface WebGpuWeight extends PackedWeight {
  /** The pieces that kernels bind one at a time, because bindings are limited in size. */
  readonly chunks: readonly WeightChunk[];
  pack(rows: WeightRows): readonly PackMethod[];
}

/** Some rows of a weight, laid out separately. */
export interface WeightChunk {
  readonly firstRow: number;
  readonly rowCount: number;
  readonly offset: number;
  readonly byteLength: number;
}
