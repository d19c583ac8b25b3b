import type { Address, PackedWeight } from '../../../device/index.ts';
import type { TensorFormat } from '../../../formats/index.ts';
import type { OpGraph, State, Tensor } from '../../../ops/index.ts';
import type { DeviceAttributes } from '../driver/driver-calls.ts';
import type { KernelModule, Launch } from './launch.ts';

/** The GPU that kernels are chosen for. */
export interface HipCudaTarget extends DeviceAttributes {
  readonly api: 'hip' | 'cuda';
  /** Whose instruction set it is: HIP runs on NVIDIA's cards too, over CUDA. */
  readonly vendor: 'amd' | 'nvidia';
  /** The instruction set by the compiler's name, features left out: `gfx1100`, `sm_90`. */
  readonly name: string;
  /** Whether a kernel may start before the one in front of it has ended (CUDA's programmatic dependent launch). */
  readonly programmatic: boolean;
  /** Whether the driver's BLAS library is there for large products. */
  readonly blas: boolean;
}

/** Where a bound graph's memory lies on the device. */
export interface GraphAddresses {
  /** Of an input, a state or an output; undefined for a temporary, which lies where the lowering put it in the scratch. */
  of(value: Tensor | State): Address | undefined;
  weight(weight: PackedWeight): Address;
  /** 0 where the graph wants none. */
  readonly scratch: Address;
}

/** Rows of a part of a packed weight. */
export interface PackRows {
  readonly weight: PackedWeight;
  readonly part: number;
  readonly firstRow: number;
  readonly rowCount: number;
  /** Their own format, where it is not the part's. */
  readonly format?: TensorFormat | undefined;
  /** Where the packed weight starts. */
  readonly target: Address;
}

/**
 * How the file's bytes of some rows come into a packed weight: copied to an address as they are, or laid out by launches that
 * find them on the device, from a multiple of 256 bytes on.
 */
export type PackWay =
  | { readonly kind: 'copy'; readonly to: Address }
  | { readonly kind: 'launches'; launches(rows: Address): readonly Launch[] };

/** A graph as kernels. */
export interface LoweredGraph {
  readonly weights: readonly PackedWeight[];
  readonly scratchBytes: number;
  /** Every text that `launches` and `pack` name. All are compiled before the graph is bound. */
  readonly modules: readonly KernelModule[];
  /** What computes the graph, in order: each sees what the ones before it wrote. */
  launches(at: GraphAddresses): readonly Launch[];
  pack(rows: PackRows): PackWay;
  /** The text that `pack` names for rows of another format than the part's; undefined where such rows cannot be packed. */
  decodes(weight: PackedWeight, part: number, format: TensorFormat): KernelModule | undefined;
}

/** The knowledge of how operators become kernels. Pure: it allocates, compiles and launches nothing. */
export interface KernelSet {
  /** Throws `OP_UNSUPPORTED` for a graph with an operator or format that it has no kernel for. */
  lower(graph: OpGraph, target: HipCudaTarget): LoweredGraph;
}
