import type { Address, PackedWeight, WeightRows } from '../../../device/index.ts';
import type { TensorFormat } from '../../../formats/index.ts';
import type { OpGraph, State, Tensor } from '../../../ops/index.ts';
import type { DeviceAttributes } from '../driver/driver-calls.ts';
import type { LibraryRank, PeerRank } from '../peers/peer-rank.ts';
import type { KernelModule, Launch } from './launch.ts';

/** The GPU that kernels are chosen for. */
export interface HipCudaTarget extends DeviceAttributes {
  readonly api: 'hip' | 'cuda';
  /** The vendor of the instruction set: HIP also runs on NVIDIA's cards, over CUDA. */
  readonly vendor: 'amd' | 'nvidia';
  /** The compiler's name for the instruction set, without features: `gfx1100`, `sm_90`. */
  readonly name: string;
  /** Whether a kernel may start before the previous one has ended (CUDA's programmatic dependent launch). */
  readonly programmatic: boolean;
  /** Whether the driver's BLAS library is available for large products. */
  readonly blas: boolean;
  /** The link over which kernels or a library compute collectives, if it is one rank of several. */
  readonly peers?: PeerRank | LibraryRank | undefined;
}

/** The device addresses of a bound graph's memory. */
export interface GraphAddresses {
  /** The address of an input, a state or an output; undefined for a temporary, which is in the scratch. */
  of(value: Tensor | State): Address | undefined;
  weight(weight: PackedWeight): Address;
  /** 0 if the graph needs none. */
  readonly scratch: Address;
}

/** A packed weight with the means to pack its rows. */
export interface HipCudaWeight extends PackedWeight {
  /**
   * The kernel that decodes rows of another format than the part's while packing; absent or undefined if there is none.
   */
  decodes?(part: number, format: TensorFormat): KernelModule | undefined;
  /**
   * The address to which rows are copied if they need no packing, for a weight at `target`; otherwise the launches that
   * pack them from their address on the device, a multiple of 256 bytes.
   */
  pack(rows: WeightRows, target: Address): Address | ((source: Address) => readonly Launch[]);
}

/** A graph as kernels. */
export interface LoweredGraph {
  readonly weights: readonly HipCudaWeight[];
  readonly scratchBytes: number;
  /** Every source that `launches` and the packing of its weights use. All are compiled before the graph is bound. */
  readonly modules: readonly KernelModule[];
  /** The launches that compute the graph, in order: each sees the results of earlier ones. */
  launches(at: GraphAddresses): readonly Launch[];
}

/** Maps operators to kernels. Pure: it allocates, compiles and launches nothing. */
export interface KernelSet {
  /** Throws `OP_UNSUPPORTED` for a graph with an operator or format for which there is no kernel. */
  lower(graph: OpGraph, target: HipCudaTarget): LoweredGraph;
  /** Rows from which on steps are faster for dequantized copies of weights. */
  copiedRows(target: Pick<HipCudaTarget, 'name'>): number;
}
