import type { GPU, GPUAdapter, GPUFeatureName } from '../../base/web-types.ts';
import { SUBGROUP_MATRICES } from './kernels/library/matrices.ts';
import type { Wgsl } from './kernels/library/wgsl.ts';
import { WEIGHT_HALVES } from './kernels/weight-halves.ts';

/** The platform's WebGPU: `navigator.gpu` in browsers and Deno, Dawn's `GPU` in Node. */
export type GpuProvider = Pick<GPU, 'requestAdapter'> & {
  readonly wgslLanguageFeatures?: ReadonlySet<string>;
};

/** Optional features that make kernels faster; each has a fallback. */
export const GPU_FEATURES = ['subgroups', 'packed-dot', 'subgroup-matrix', 'timestamps'] as const;

/** One of `GPU_FEATURES`. */
export type GpuFeature = (typeof GPU_FEATURES)[number];

/** The features and limits of an open device that kernels are compiled for. */
export interface GpuTarget {
  /** Lanes that exchange values without a barrier; 1 if subgroups are not used. */
  readonly lanes: number;
  /** Whether WGSL has `dot4I8Packed`. */
  readonly packedDot: boolean;
  /** f16 matrices that subgroups multiply. */
  readonly matrices?: GpuMatrices | undefined;
  /** Whether WGSL's own conversion of f16 to f32 is exact on this GPU, subnormal numbers included. */
  readonly nativeHalves: boolean;
  /** Whether the GPU has timestamps at the start and end of dispatches. */
  readonly timestamps: boolean;
  /** Whether short loops are unrolled in the text; compilers for CPUs take long over that. */
  readonly unroll: boolean;
  /** Threads per workgroup, a power of two. */
  readonly threads: number;
  /** Workgroup memory in bytes. */
  readonly workgroupBytes: number;
  /** Maximum bytes of a binding. */
  readonly bindingBytes: number;
  readonly storageBindings: number;
  readonly uniformBytes: number;
  readonly gridSize: number;
}

/** f16 matrices that a subgroup multiplies, with f32 sums. */
export interface GpuMatrices {
  readonly rows: number;
  readonly outputs: number;
  readonly depth: number;
  /** Threads per subgroup. */
  readonly lanes: number;
  /** What `SUBGROUP_MATRICES` says. */
  readonly text: Wgsl;
  /** `weight_halves`, which decodes four quants. */
  readonly decodeText: Wgsl;
}

/** The descriptor for requesting a device, and the target that results; only the device tells whether it has `nativeHalves`. */
export interface ChosenTarget {
  readonly target: GpuTarget;
  readonly requiredFeatures: GPUFeatureName[];
  readonly requiredLimits: Record<string, number>;
}

/** Limits that are requested up to what the adapter supports. */
const WANTED_LIMITS = [
  'maxBufferSize',
  'maxStorageBufferBindingSize',
  'maxComputeWorkgroupStorageSize',
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupSizeX',
  'maxStorageBuffersPerShaderStage',
  'maxUniformBufferBindingSize',
] as const;

const SUBGROUPS: readonly GPUFeatureName[] = ['subgroups'];

const TIMESTAMPS: readonly GPUFeatureName[] = ['timestamp-query'];

/** Features that matrices need; Dawn's is not a standard name. */
const MATRICES = ['shader-f16', 'chromium-experimental-subgroup-matrix'] as readonly GPUFeatureName[];

/** No kernel gains from more threads than this. */
const MAX_THREADS = 256;

/** Maximum threads of a subgroup for which the smallest slice of a product's tile can be divided. */
const MAX_MATRIX_LANES = 32;

/**
 * Chooses among the adapter's features, except those in `without`: the only place where features are chosen.
 * `bindingBytes` reduces the maximum size of a binding.
 */
export function chooseTarget(
  adapter: GPUAdapter,
  languageFeatures: ReadonlySet<string>,
  options: { without: readonly GpuFeature[]; bindingBytes?: number | undefined },
): ChosenTarget {
  const { limits, info, features } = adapter;
  const wants = (feature: GpuFeature) => !options.without.includes(feature);
  const subgroups = wants('subgroups') && features.has('subgroups');
  const timestamps = wants('timestamps') && TIMESTAMPS.every((name) => features.has(name));
  const matrices = subgroups && wants('subgroup-matrix') ? chooseMatrices(adapter) : undefined;
  const invocations = Math.min(limits.maxComputeInvocationsPerWorkgroup, limits.maxComputeWorkgroupSizeX);
  return {
    requiredFeatures: [
      ...(subgroups ? SUBGROUPS : []),
      ...(matrices ? MATRICES : []),
      ...(timestamps ? TIMESTAMPS : []),
    ],
    requiredLimits: Object.fromEntries(WANTED_LIMITS.map((name) => [name, limits[name]])),
    target: {
      lanes: subgroups ? Math.max(1, info.subgroupMinSize) : 1,
      packedDot: wants('packed-dot') && languageFeatures.has('packed_4x8_integer_dot_product'),
      matrices,
      nativeHalves: false,
      timestamps,
      unroll: !info.isFallbackAdapter,
      threads: Math.min(MAX_THREADS, 2 ** Math.floor(Math.log2(invocations))),
      workgroupBytes: limits.maxComputeWorkgroupStorageSize,
      bindingBytes: Math.min(limits.maxStorageBufferBindingSize, options.bindingBytes ?? Infinity),
      storageBindings: limits.maxStorageBuffersPerShaderStage,
      uniformBytes: limits.maxUniformBufferBindingSize,
      gridSize: limits.maxComputeWorkgroupsPerDimension,
    },
  };
}

/** A matrix shape as reported by Dawn. */
interface MatrixConfig {
  readonly componentType: string;
  readonly resultComponentType: string;
  readonly M: number;
  readonly N: number;
  readonly K: number;
}

/** The largest f16 matrices with f32 sums into which kernels can divide their tiles. */
function chooseMatrices({ features, info }: GPUAdapter): GpuMatrices | undefined {
  const {
    subgroupMinSize,
    subgroupMaxSize,
    subgroupMatrixConfigs = [],
  } = info as GPUAdapterInfo & {
    readonly subgroupMatrixConfigs?: Iterable<MatrixConfig>;
  };
  if (!MATRICES.every((name) => features.has(name))) return undefined;
  if (subgroupMinSize !== subgroupMaxSize || subgroupMaxSize > MAX_MATRIX_LANES) return undefined;
  const usable = [...subgroupMatrixConfigs].filter(
    ({ componentType, resultComponentType, M, N, K }) =>
      componentType === 'f16' &&
      resultComponentType === 'f32' &&
      [M, N, K].every((size) => size === 8 || size === 16),
  );
  const [best] = usable.sort((a, b) => b.M * b.N * b.K - a.M * a.N * a.K);
  if (!best) return undefined;
  const { M: rows, N: outputs, K: depth } = best;
  return {
    ...{ rows, outputs, depth, lanes: subgroupMaxSize },
    ...{ text: SUBGROUP_MATRICES, decodeText: WEIGHT_HALVES },
  };
}
