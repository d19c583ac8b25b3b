import { createHash } from 'node:crypto';
import { isRocmforgeError } from '../../src/base/errors.ts';
import type { GpuFacts, PackedWeight } from '../../src/device/index.ts';
import { moduleKey, HIP_CUDA_KERNELS, type HipCudaTarget } from '../../src/devices/hip-cuda/index.ts';
import type { GpuMatrices, GpuTarget } from '../../src/devices/webgpu/gpu-target.ts';
import { SUBGROUP_MATRICES } from '../../src/devices/webgpu/kernels/library/matrices.ts';
import { WEIGHT_HALVES } from '../../src/devices/webgpu/kernels/weight-halves.ts';
import { joinWgsl } from '../../src/devices/webgpu/kernels/library/wgsl.ts';
import type { Constant } from '../../src/devices/webgpu/launching/kernel-module.ts';
import { hipCudaFacts } from '../../src/devices/hip-cuda/lowering/facts.ts';
import { webgpuFacts } from '../../src/devices/webgpu/lowering/facts.ts';
import { lowerGraph } from '../../src/devices/webgpu/lowering/lower-graph.ts';
import { F16, Q4_K, Q6_K, type TensorFormat } from '../../src/formats/index.ts';
import type { TensorInfo } from '../../src/gguf/index.ts';
import { syntheticShape } from '../../src/model/synthetic/shapes.ts';
import type { SyntheticShape } from '../../src/model/synthetic-family.ts';
import type { OpGraph, State, Tensor } from '../../src/ops/index.ts';
import { FAMILY_FIXTURES } from './family-fixtures.ts';
import { amdTarget } from './hip-cuda/amd-targets.ts';
import { syntheticGraphs, type SyntheticModel, syntheticModel } from './synthetic-graphs.ts';

/** One launch of a graph: its kernel and grid, which show what is fused, and everything else that defines it. */
export interface ListedLaunch {
  readonly kernel: string;
  readonly grid: readonly number[];
  readonly details: string;
  /** A hash of the kernel's text, if the device generates it. */
  readonly text?: string;
}

/** A target without hardware, and how a graph is lowered for it. */
export interface ListedTarget {
  readonly name: string;
  readonly facts: GpuFacts;
  launches(graph: OpGraph): ListedLaunch[];
}

/** An H100 as its driver reports it. */
export const HOPPER: HipCudaTarget = {
  api: 'cuda',
  vendor: 'nvidia',
  name: 'sm_90',
  multiprocessors: 132,
  waveSize: 32,
  maxThreadsPerBlock: 1024,
  sharedBytesOptIn: 232_448,
  l2Bytes: 50 << 20,
  programmatic: true,
  blas: true,
};

/** A GPU with the limits that WebGPU guarantees everywhere. */
const PLAIN: GpuTarget = {
  lanes: 1,
  packedDot: false,
  timestamps: false,
  nativeHalves: true,
  unroll: true,
  threads: 256,
  workgroupBytes: 16 << 10,
  bindingBytes: 128 << 20,
  storageBindings: 8,
  uniformBytes: 64 << 10,
  gridSize: 65535,
};

const MATRICES: GpuMatrices = {
  ...{ rows: 16, outputs: 16, depth: 16, lanes: 32 },
  ...{ text: SUBGROUP_MATRICES, decodeText: WEIGHT_HALVES },
};

const LARGE = { ...PLAIN, lanes: 32, packedDot: true, workgroupBytes: 48 << 10, storageBindings: 16 };

/** Every kind of target for which plans differ. */
export const LISTED_TARGETS: readonly ListedTarget[] = [
  hipCuda('cuda sm_90', HOPPER),
  hipCuda('hip gfx1100', amdTarget('gfx1100')),
  hipCuda('hip gfx942, no BLAS', { ...amdTarget('gfx942'), blas: false }),
  webgpu('webgpu plain', PLAIN),
  webgpu('webgpu subgroups', { ...PLAIN, lanes: 32, packedDot: true }),
  webgpu('webgpu matrices', { ...LARGE, matrices: MATRICES }),
];

/** Numbers values in the order of first use. */
class Places<K> {
  readonly #numbers = new Map<K, number>();

  numberOf(key: K): number {
    const number = this.#numbers.get(key) ?? this.#numbers.size + 1;
    this.#numbers.set(key, number);
    return number;
  }
}

/** Larger than any binding, so that ranges do not overlap. */
const SPAN = 2 ** 40;

function hipCuda(name: string, target: HipCudaTarget): ListedTarget {
  const launches = (graph: OpGraph): ListedLaunch[] => {
    const places = new Places<Tensor | State | PackedWeight | 'scratch'>();
    const inScratch = new Set<Tensor | State>(
      graph.ops.flatMap((op) => ('out' in op ? [op.out] : [])).filter(({ role }) => role === 'temp'),
    );
    for (const { tensor } of graph.outputs) inScratch.delete(tensor);
    const lowered = HIP_CUDA_KERNELS.lower(graph, target);
    const listed = lowered.launches({
      of: (value) => (inScratch.has(value) ? undefined : SPAN * places.numberOf(value)),
      weight: (weight) => SPAN * places.numberOf(weight),
      scratch: SPAN * places.numberOf('scratch'),
    });
    const known = lowered.weights.map(weightText).sort();
    return listed.map((launch, i) => {
      const weights = i === 0 ? ` weights ${known.join('; ')}` : '';
      if (launch.kind === 'product') {
        const { shape, x, w, y, workspace, factor } = launch;
        const grid = [shape.rows, shape.outputs, shape.columns];
        return { kernel: 'product', grid, details: [factor, x, w, y, workspace].join(' ') + weights };
      }
      if (launch.kind !== 'kernel') throw new Error(`${launch.kind} is no launch of a graph`);
      const { module, kernel, grid, block, sharedBytes, args, programmatic } = launch;
      const values = args.map(({ type, value }) => `${type} ${value}`).join(', ');
      const details = `${moduleKey(module)} block ${block} shared ${sharedBytes} ${programmatic} (${values})${weights}`;
      return { kernel, grid, details };
    });
  };
  return { name, facts: hipCudaFacts(target), launches };
}

function constantText(value: Constant): string {
  return typeof value === 'object' ? `${value.f32}f` : String(value);
}

function webgpu(name: string, target: GpuTarget): ListedTarget {
  const launches = (graph: OpGraph): ListedLaunch[] => {
    const places = new Places<unknown>();
    const { templates, weights, scratchBytes } = lowerGraph(graph, target);
    return templates.map(({ module, grid, args }, i) => {
      const constants = Object.entries(module.constants).map(
        ([key, value]) => `${key}=${constantText(value)}`,
      );
      const bound = args.map(({ of, offset, byteLength }, p) => {
        const { name: parameter = '', type = '', access = '' } = module.parameters[p] ?? {};
        return `${access} ${parameter}: ${type} = ${places.numberOf(of)}+${offset}:${byteLength}`;
      });
      const text = createHash('sha256').update(joinWgsl(module.texts, [])).digest('hex').slice(0, 12);
      const laid =
        i === 0 ? ` scratch ${scratchBytes} weights ${weights.map(weightText).sort().join('; ')}` : '';
      const details = `${constants.sort().join(' ')} (${bound.join(', ')})${laid}`;
      return { kernel: module.name, grid, details, text };
    });
  };
  return { name, facts: webgpuFacts(target), launches };
}

function weightText({ layout, parts, byteLength }: PackedWeight): string {
  return `${layout} ${parts.map((part) => part.name).join('+')} ${byteLength}`;
}

/** Row counts of the plans: a token, several, and a prompt's. */
export const LISTED_ROWS = [1, 4, 16, 64, 512] as const;

/** A family in realistic proportions. */
export interface ListedModel {
  readonly name: string;
  readonly shape: SyntheticShape;
  readonly format: TensorFormat;
  readonly values: TensorFormat;
}

const SIZES = {
  ...{ layers: 2, width: 1024, heads: 8, kvHeads: 2, hidden: 2816, vocabulary: 2048, context: 4096 },
  ...{ experts: 16, chosenExperts: 4, expertHidden: 512 },
} as const;

/** Families with as many key heads as heads, RWKV's heads of 64, and numbers of layers. */
const OWN_SIZES: Readonly<Record<string, Partial<SyntheticShape>>> = {
  gpt2: { kvHeads: 8 },
  bert: { kvHeads: 8 },
  'nomic-bert': { kvHeads: 8 },
  rwkv7: { heads: 16, kvHeads: 16 },
  gemma3: { layers: 6 },
  glm4moe: { layers: 3 },
  baichuan: { layers: 32 },
  deci: { layers: 3 },
};

/** Every family, in a quantized format with larger types for values, as in llama.cpp's files, and in f16. */
export const LISTED_MODELS: readonly ListedModel[] = FAMILY_FIXTURES.filter(({ family }) => !family).flatMap(
  ({ name, architecture = name, sizes: { experts } }) => {
    const { experts: count, chosenExperts, expertHidden, ...dense } = SIZES;
    const routed = name.endsWith('moe') || experts !== undefined;
    const sizes = routed ? { ...dense, experts: count, chosenExperts, expertHidden } : dense;
    const shape = { ...syntheticShape('tiny'), ...sizes, ...OWN_SIZES[name], architecture };
    return [
      { name: `${name} Q4_K`, shape, format: Q4_K, values: Q6_K },
      { name: `${name} F16`, shape, format: F16, values: F16 },
    ];
  },
);

/** RWKV-7's low-rank products, which quantized files store as f16. */
const RANKS = /time_mix_[wavg][12]\.weight$/;

function withRanksOfNumbers(model: SyntheticModel): SyntheticModel {
  const tensors = [...model.tensors].map(([name, tensor]): [string, TensorInfo] => [
    name,
    RANKS.test(name) ? { ...tensor, format: F16, byteLength: 2 * tensor.elementCount } : tensor,
  ]);
  return { ...model, tensors: new Map(tensors) };
}

/** The graphs of a model for this many rows of four sequences, with each kind of layer once. */
export async function listedGraphs({
  shape,
  format,
  values,
}: ListedModel): Promise<(rows: number) => OpGraph[]> {
  const model = withRanksOfNumbers(await syntheticModel(shape, format, values));
  return (rows) => {
    const { embedding, layers, head, sampling } = syntheticGraphs(model, {
      shape: { rows, outputs: Math.min(rows, 4), slots: 4, blocksPerSlot: 128 },
      ...{ blocks: 512, cacheType: 'f16', context: shape.context, tokens: 4, alternatives: 0 },
    });
    return [...new Set([embedding, ...layers, head, sampling].map(({ graph }) => graph))];
  };
}

/** A hash of the launches with their arguments: of what is fused, how it is distributed, and its operands. */
export function listHash(launches: readonly ListedLaunch[]): string {
  const text = launches
    .map(({ kernel, grid, details }) => `${kernel} ${grid.join('x')} ${details}`)
    .join('\n');
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** A graph and a description of it. */
export interface NamedGraph {
  readonly name: string;
  readonly graph: OpGraph;
}

/** The launches of a graph, or why the target refuses it. */
export function launchesOr(graph: OpGraph, target: ListedTarget): ListedLaunch[] {
  try {
    return target.launches(graph);
  } catch (error) {
    if (!isRocmforgeError(error, 'OP_UNSUPPORTED')) throw error;
    return [{ kernel: 'refused', grid: [], details: error.message }];
  }
}

/**
 * One line per model and target: the number of launches of its last kind of layer for each row count, and a hash of all
 * parts' launches with their arguments.
 */
export async function launchSummary(): Promise<string[]> {
  const lines: string[] = [];
  for (const model of LISTED_MODELS) {
    const graphsFor = await listedGraphs(model);
    const graphs = LISTED_ROWS.map((rows) => ({ rows, graphs: graphsFor(rows) }));
    for (const target of LISTED_TARGETS) {
      const listed = graphs.map((of) => ({
        ...of,
        lists: of.graphs.map((graph) => launchesOr(graph, target)),
      }));
      const counts = listed.map(({ rows, lists }) => `${rows}: ${lists.at(-3)?.length}`).join(', ');
      lines.push(
        `${model.name} | ${target.name} | ${counts} | ${listHash(listed.flatMap(({ lists }) => lists.flat()))}`,
      );
    }
  }
  return lines;
}
