/** A build of the native kernels, for processors with certain instructions. */
export interface NativeVariant {
  readonly name: string;
  /** `process.arch`. */
  readonly architecture: string;
  /** `process.platform`, where a single system says that the processor has them, or lets processes use them. */
  readonly platform?: string;
  /** The bit of `features()` in `kernels/features.cc`, by architecture, that says whether a processor has them. */
  readonly feature: number;
  /** What a compiler (GCC or Clang) is told of them. */
  readonly flags: readonly string[];
}

const AVX512_VNNI = [
  ...['-mavx512f', '-mavx512bw', '-mavx512dq', '-mavx512vl', '-mavx512vnni'],
  ...['-mavx2', '-mf16c'],
];

/** The variants, best first. */
export const NATIVE_VARIANTS: readonly NativeVariant[] = [
  {
    name: 'avx512-amx',
    architecture: 'x64',
    platform: 'linux',
    feature: 4,
    flags: [...AVX512_VNNI, '-mamx-tile', '-mamx-int8'],
  },
  { name: 'avx512-vnni', architecture: 'x64', feature: 2, flags: AVX512_VNNI },
  { name: 'avx2', architecture: 'x64', feature: 1, flags: ['-mavx2', '-mf16c'] },
  {
    name: 'neon-i8mm',
    architecture: 'arm64',
    platform: 'linux',
    feature: 2,
    flags: ['-march=armv8.2-a+dotprod+i8mm'],
  },
  { name: 'neon-dotprod', architecture: 'arm64', feature: 1, flags: ['-march=armv8.2-a+dotprod'] },
];

/** The variants for a kind of processor under an operating system, as `process` names them, best first. */
export function nativeVariants(architecture: string, platform: string): readonly NativeVariant[] {
  return NATIVE_VARIANTS.filter(
    (variant) => variant.architecture === architecture && (variant.platform ?? platform) === platform,
  );
}

/** The texts of `kernels/` that each library is compiled from; they include the others. */
export const NATIVE_TEXTS = {
  features: ['features.cc'],
  kernels: ['products.cc', 'floats.cc', 'attention.cc', 'quantize.cc', 'elementwise.cc'],
} as const;

/** How all of them are compiled. Fused multiply-adds would round differently from the WebAssembly kernels. */
export const NATIVE_FLAGS: readonly string[] = [
  ...['-std=c++17', '-O3', '-ffp-contract=off', '-fno-exceptions', '-fno-rtti'],
  ...['-shared', '-fPIC', '-fvisibility=hidden', '-nostdlib'],
];
