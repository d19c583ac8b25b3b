import { SUBGROUP_MATRICES } from './kernels/library/matrices.ts';
import type { Wgsl } from './kernels/library/wgsl.ts';
import { WEIGHT_HALVES } from './kernels/weight-halves.ts';

/** What a platform hands in: `navigator.gpu` in browsers and Deno, Dawn's `GPU` in Node. */
export type GpuProvider = Pick<GPU, 'requestAdapter'> & {
  readonly wgslLanguageFeatures?: ReadonlySet<string>;
};

/** Features that make kernels faster and that each have another way where they are missing. */
export const GPU_FEATURES = ['subgroups', 'packed-dot', 'subgroup-matrix', 'timestamps'] as const;

/** One of `GPU_FEATURES`. */
export type GpuFeature = (typeof GPU_FEATURES)[number];

/** What kernels are made for: features and limits of an opened device. */
export interface GpuTarget {
  /** Lanes that exchange values without a barrier; 1 where subgroups are not used. */
  readonly lanes: number;
  /** True where WGSL has `dot4I8Packed`. */
  readonly packedDot: boolean;
  /** Matrices of halves that subgroups multiply. */
  readonly matrices?: GpuMatrices | undefined;
  /** True where the GPU can say when a dispatch began and ended. */
  readonly timestamps: boolean;
  /** True where short loops are written out in the texts; compilers for processors take long over that. */
  readonly unroll: boolean;
  /** Threads of a workgroup, a power of two. */
  readonly threads: number;
  /** Workgroup memory in bytes. */
  readonly workgroupBytes: number;
  /** The most bytes that one binding spans. */
  readonly bindingBytes: number;
  readonly storageBindings: number;
  readonly uniformBytes: number;
  readonly gridSize: number;
}

/** Matrices of halves that a subgroup multiplies at once, their sums in f32. */
export interface GpuMatrices {
  readonly rows: number;
  readonly outputs: number;
  readonly depth: number;
  /** Threads of a subgroup. */
  readonly lanes: number;
  /** What `SUBGROUP_MATRICES` says. */
  readonly text: Wgsl;
  /** `weight_halves`, which decodes four quants. */
  readonly decodeText: Wgsl;
}

/** How a device is to be requested, and what its kernels may then use. */
export interface ChosenTarget {
  readonly target: GpuTarget;
  readonly requiredFeatures: GPUFeatureName[];
  readonly requiredLimits: Record<string, number>;
}

/** Limits that are asked for as far as the adapter goes. */
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

/** What matrices need; the one of Dawn is not among the standard's names. */
const MATRICES = ['shader-f16', 'chromium-experimental-subgroup-matrix'] as readonly GPUFeatureName[];

/** More threads than this gain nothing in any kernel. */
const MAX_THREADS = 256;

/** Threads of a subgroup among which the smallest slice of a product's tile can be divided. */
const MAX_MATRIX_LANES = 32;

/**
 * Chooses among what the adapter offers, `without` left out: the one place where features are chosen. `bindingBytes` narrows
 * what a binding spans.
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

/** A shape of matrices that Dawn tells. */
interface MatrixConfig {
  readonly componentType: string;
  readonly resultComponentType: string;
  readonly M: number;
  readonly N: number;
  readonly K: number;
}

/** The largest matrices of halves with sums in f32 that kernels can divide their tiles into. */
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
