/** The differences between cuBLASLt and hipBLASLt, whose calls are otherwise the same. */
export interface BlasTable {
  /** Libraries, best first, by their names on Linux. */
  readonly libraries: readonly string[];
  /** The prefix of all its symbols. */
  readonly prefix: 'cublasLt' | 'hipblasLt';
  /** `…COMPUTE_32F`. */
  readonly computeFloats: number;
  /** `…OP_T`. */
  readonly transposed: number;
  /** `…MATMUL_DESC_TRANSA`. */
  readonly transposeFirst: number;
  /** Bytes of `…MatmulAlgo_t`, which is at the start of a heuristic's result. */
  readonly algorithmBytes: number;
}

/** cuBLASLt of CUDA 12 and 13 (`cublasLt.h`). */
export const cudaBlas: BlasTable = {
  libraries: ['libcublasLt.so.13', 'libcublasLt.so.12', 'libcublasLt.so'],
  prefix: 'cublasLt',
  computeFloats: 68,
  transposed: 1,
  transposeFirst: 3,
  algorithmBytes: 64,
};

/** hipBLASLt of ROCm 6 and 7 (`hipblaslt.h`). */
export const hipBlas: BlasTable = {
  libraries: ['libhipblaslt.so.1', 'libhipblaslt.so.0', 'libhipblaslt.so'],
  prefix: 'hipblasLt',
  computeFloats: 2,
  transposed: 112,
  transposeFirst: 0,
  algorithmBytes: 24,
};
