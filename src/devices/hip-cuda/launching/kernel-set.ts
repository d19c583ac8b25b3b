import type { Address, PackedWeight, WeightRows } from '../../../device/index.ts';
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

/** A packed weight that knows how its rows come into its layout. */
export interface HipCudaWeight extends PackedWeight {
  /** What decodes rows of another format than the part's on their way into the layout; absent or undefined where nothing does. */
  decodes?(part: number, format: TensorFormat): KernelModule | undefined;
  /**
   * Where rows belong that are copied as they are, with the weight at `target`; or what lays them out once they stand on the
   * device, from a multiple of 256 bytes on.
   */
  pack(rows: WeightRows, target: Address): Address | ((source: Address) => Launch);
}

/** A graph as kernels. */
export interface LoweredGraph {
  readonly weights: readonly HipCudaWeight[];
  readonly scratchBytes: number;
  /** Every text that `launches` and packing its weights name. All are compiled before the graph is bound. */
  readonly modules: readonly KernelModule[];
  /** What computes the graph, in order: each sees what the ones before it wrote. */
  launches(at: GraphAddresses): readonly Launch[];
}

/** The knowledge of how operators become kernels. Pure: it allocates, compiles and launches nothing. */
export interface KernelSet {
  /** Throws `OP_UNSUPPORTED` for a graph with an operator or format that it has no kernel for. */
  lower(graph: OpGraph, target: HipCudaTarget): LoweredGraph;
}
