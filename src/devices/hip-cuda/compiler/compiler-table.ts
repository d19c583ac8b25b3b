/** The differences between hipRTC and NVRTC, whose calls are otherwise the same. */
export interface CompilerTable {
  readonly api: 'hip' | 'cuda';
  /** Libraries that may contain the compiler, best first, by their names on Linux. */
  readonly libraries: readonly string[];
  /** Libraries that such a library needs to be loaded first, if they exist. */
  readonly companions: readonly string[];
  /** The prefix of all its symbols. */
  readonly prefix: 'hiprtc' | 'nvrtc';
  /** The symbols' name for compiled code. */
  readonly code: 'Code' | 'CUBIN';
}

/** hipRTC: a separate library since ROCm 5.5, and required since ROCm 7; before, a part of libamdhip64. */
export const hipCompiler: CompilerTable = {
  api: 'hip',
  libraries: [
    'libhiprtc.so.7',
    'libhiprtc.so.6',
    'libamdhip64.so.6',
    'libhiprtc.so.5',
    'libamdhip64.so.5',
    'libhiprtc.so',
    'libamdhip64.so',
  ],
  companions: [],
  prefix: 'hiprtc',
  code: 'Code',
};

const CUDA_RELEASES = [
  '13.3',
  '13.2',
  '13.1',
  '13.0',
  '12.9',
  '12.8',
  '12.6',
  '12.5',
  '12.4',
  '12.3',
  '12.2',
  '12.1',
  '12.0',
];

/** NVRTC of CUDA 12 and 13. It searches for the library of its built-in headers only in the loader's folders. */
export const cudaCompiler: CompilerTable = {
  api: 'cuda',
  libraries: ['libnvrtc.so.13', 'libnvrtc.so.12', 'libnvrtc.so'],
  companions: CUDA_RELEASES.map((release) => `libnvrtc-builtins.so.${release}`),
  prefix: 'nvrtc',
  code: 'CUBIN',
};
