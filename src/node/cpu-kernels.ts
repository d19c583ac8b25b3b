/** Which kernels the CPU device runs: native ones if possible, native ones or none, or WebAssembly alone. */
export type CpuKernels = 'auto' | 'native' | 'wasm';

/** The values of `CpuKernels`. */
export const CPU_KERNELS: readonly CpuKernels[] = ['auto', 'native', 'wasm'];
