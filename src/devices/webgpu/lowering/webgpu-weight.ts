import type { PackedWeight, WeightRows } from '../../../device/index.ts';
import type { KernelModule } from '../launching/kernel-module.ts';

/** Bytes that go to the weight as they are: `target` is where, `fill` writes them. */
export interface HostRows {
  readonly kind: 'host';
  readonly target: number;
  readonly byteLength: number;
  /** Writes the layout's bytes from the file's. `into` may be longer and hold anything. */
  fill(rows: Uint8Array, into: Uint8Array): void;
  /** True where the layout's bytes are the file's. */
  readonly unchanged: boolean;
}

/** Rows that a kernel brings into the layout out of the file's bytes. */
export interface KernelRows {
  readonly kind: 'kernel';
  readonly module: KernelModule;
  /** The chunk of the weight that the rows lie in. */
  readonly target: number;
  readonly byteLength: number;
  /** Of the file's bytes, where the rows start and how many there are. */
  readonly from: number;
  readonly fromBytes: number;
  /** Words of the kernel's `job`, the first of them set to `from` plus where the file's bytes stand. */
  readonly job: readonly number[];
  readonly workgroups: number;
}

/** How some rows come into the layout. */
export type PackMethod = HostRows | KernelRows;

/** A packed weight with the way in which rows of a part, as the file's bytes, come into its layout. */
export interface WebGpuWeight extends PackedWeight {
  /** The parts of it that kernels bind one at a time: a binding spans only so much. */
  readonly chunks: readonly WeightChunk[];
  pack(rows: WeightRows): readonly PackMethod[];
}

/** Some rows of a weight, laid out by themselves. */
export interface WeightChunk {
  readonly firstRow: number;
  readonly rowCount: number;
  readonly offset: number;
  readonly byteLength: number;
}
