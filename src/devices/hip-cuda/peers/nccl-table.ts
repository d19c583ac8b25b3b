/** The differences between NCCL and RCCL, whose calls are otherwise the same. */
export interface NcclTable {
  readonly name: 'NCCL' | 'RCCL';
  /** Libraries of the calls' version, best first, by their names on Linux. */
  readonly libraries: readonly string[];
  /** How to install it. */
  readonly advice: string;
}

/** NCCL 2 (`nccl.h`). */
export const cudaNccl: NcclTable = {
  name: 'NCCL',
  libraries: ['libnccl.so.2', 'libnccl.so'],
  advice:
    'Install NCCL: pip install nvidia-nccl-cu13, or nvidia-nccl-cu12 for a driver of CUDA 12; or set LD_LIBRARY_PATH to its folder',
};

/** RCCL of ROCm 6 and 7 (`rccl.h`), which has NCCL's calls under their names. */
export const hipNccl: NcclTable = {
  name: 'RCCL',
  libraries: ['librccl.so.1', 'librccl.so'],
  advice: 'Install RCCL (Debian, Ubuntu: apt install rccl), or set ROCM_PATH to ROCm’s folder',
};
