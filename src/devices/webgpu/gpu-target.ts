/** What a platform hands in: `navigator.gpu` in browsers and Deno, Dawn's `GPU` in Node. */
export type GpuProvider = Pick<GPU, 'requestAdapter'> & {
  readonly wgslLanguageFeatures?: ReadonlySet<string>;
};

/** Features that make kernels faster and that each have another way where they are missing. */
export const GPU_FEATURES = ['subgroups', 'packed-dot'] as const;

/** One of `GPU_FEATURES`. */
export type GpuFeature = (typeof GPU_FEATURES)[number];

/** What kernels are made for: features and limits of an opened device. */
export interface GpuTarget {
  /** Lanes that exchange values without a barrier; 1 where subgroups are not used. */
  readonly lanes: number;
  /** True where WGSL has `dot4I8Packed`. */
  readonly packedDot: boolean;
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

/** More threads than this gain nothing in any kernel. */
const MOST_THREADS = 256;

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
  const invocations = Math.min(limits.maxComputeInvocationsPerWorkgroup, limits.maxComputeWorkgroupSizeX);
  return {
    requiredFeatures: subgroups ? ['subgroups'] : [],
    requiredLimits: Object.fromEntries(WANTED_LIMITS.map((name) => [name, limits[name]])),
    target: {
      lanes: subgroups ? Math.max(1, info.subgroupMinSize) : 1,
      packedDot: wants('packed-dot') && languageFeatures.has('packed_4x8_integer_dot_product'),
      threads: Math.min(MOST_THREADS, 2 ** Math.floor(Math.log2(invocations))),
      workgroupBytes: limits.maxComputeWorkgroupStorageSize,
      bindingBytes: Math.min(limits.maxStorageBufferBindingSize, options.bindingBytes ?? Infinity),
      storageBindings: limits.maxStorageBuffersPerShaderStage,
      uniformBytes: limits.maxUniformBufferBindingSize,
      gridSize: limits.maxComputeWorkgroupsPerDimension,
    },
  };
}
