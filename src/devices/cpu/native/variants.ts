/** A build of the native kernels, for processors with certain instructions. */
export interface NativeVariant {
  readonly name: string;
  /** `process.arch`. */
  readonly architecture: string;
  /** The bit of `features()` in `kernels/features.cc`, by architecture, that says whether a processor has them. */
  readonly feature: number;
  /** What a compiler (GCC or Clang) is told of them. */
  readonly flags: readonly string[];
}

/** The variants, best first. */
export const NATIVE_VARIANTS: readonly NativeVariant[] = [
  {
    name: 'avx512-vnni',
    architecture: 'x64',
    feature: 2,
    flags: ['-mavx512f', '-mavx512bw', '-mavx512dq', '-mavx512vl', '-mavx512vnni', '-mavx2', '-mf16c'],
  },
  { name: 'avx2', architecture: 'x64', feature: 1, flags: ['-mavx2', '-mf16c'] },
  { name: 'neon-dotprod', architecture: 'arm64', feature: 1, flags: ['-march=armv8.2-a+dotprod'] },
];

/** The texts of `kernels/` that each library is compiled from; they include the others. */
export const NATIVE_TEXTS = {
  features: ['features.cc'],
  kernels: ['products.cc', 'attention.cc', 'quantize.cc', 'elementwise.cc'],
} as const;

/** How all of them are compiled. Fused multiply-adds would round differently from the WebAssembly kernels. */
export const NATIVE_FLAGS: readonly string[] = [
  ...['-std=c++17', '-O3', '-ffp-contract=off', '-fno-exceptions', '-fno-rtti'],
  ...['-shared', '-fPIC', '-fvisibility=hidden', '-nostdlib'],
];
