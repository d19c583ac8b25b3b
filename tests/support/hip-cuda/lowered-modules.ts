import {
  type KernelModule,
  moduleKey,
  HIP_CUDA_KERNELS,
  type HipCudaTarget,
  SMALL_COPY,
} from '../../../src/devices/hip-cuda/index.ts';
import { ALL_FORMATS, type TensorFormat } from '../../../src/formats/index.ts';
import { syntheticShape } from '../../../src/model/synthetic/shapes.ts';
import type { SyntheticShape } from '../../../src/model/synthetic-family.ts';
import { GraphBuilder, type OpGraph } from '../../../src/ops/index.ts';
import type { CaseData } from '../contract/case-data.ts';
import { ALL_CASES } from '../contract/cases/index.ts';
import { COLLECTIVE_CASES, rankCases } from '../contract/collectives.ts';
import type { OpCase } from '../contract/op-case.ts';
import { syntheticGraphs, syntheticModel } from '../synthetic-graphs.ts';
import { PROBE } from './probe.ts';

/** Rows of a step: one sequence's token, several sequences' tokens, and a prompt's. */
const ROWS = [1, 4, 8, 32, 512];
const CONTEXT = 4096;
const BLOCK_SIZE = 32;

/** The graphs of a layer and of the head, in real models' widths, for every batch size with its own kernels. */
async function modelGraphs(of: SyntheticShape, format: TensorFormat): Promise<OpGraph[]> {
  const shape = { ...of, layers: 1 };
  const model = await syntheticModel(shape, format);
  return ROWS.flatMap((rows) => {
    const slots = Math.min(rows, 8);
    const graphs = syntheticGraphs(model, {
      shape: { rows, outputs: 1, slots, blocksPerSlot: CONTEXT / BLOCK_SIZE },
      blocks: (slots * CONTEXT) / BLOCK_SIZE,
      cacheType: 'f16',
      context: CONTEXT,
      tokens: 1,
      alternatives: 0,
    });
    return [graphs.embedding, ...graphs.layers, graphs.head, graphs.sampling].map(({ graph }) => graph);
  });
}

/** The graph of a case of the operator contract. */
export function caseGraph(of: OpCase): OpGraph {
  const { dequantized } = of;
  const graph = new GraphBuilder(of.name, of.batch.shape, dequantized && { dequantized });
  for (const [name, tensor] of Object.entries(of.record(graph))) graph.output(name, tensor, of.unusedRows);
  return graph.finish();
}

/** The modules that the lowering needs for these graphs, without duplicates. */
function modulesOf(graphs: readonly OpGraph[], target: HipCudaTarget): KernelModule[] {
  const modules = graphs.flatMap((graph) => HIP_CUDA_KERNELS.lower(graph, target).modules);
  return [...new Map(modules.map((module) => [moduleKey(module), module])).values()];
}

/** The kernels of typical models: common weight formats, with and without grouped-query attention. */
export async function modelModules(target: HipCudaTarget): Promise<KernelModule[]> {
  const formats = ALL_FORMATS.filter(({ name }) => name === 'Q4_0' || name === 'Q4_K');
  const shapes = [syntheticShape('llama-2-7b'), syntheticShape('llama-3-8b')];
  const graphs = shapes.flatMap((shape) => formats.map((format) => modelGraphs(shape, format)));
  return modulesOf((await Promise.all(graphs)).flat(), target);
}

/** Rank 0 of two that are linked, in each way that there is. */
const LINKS: readonly NonNullable<HipCudaTarget['peers']>[] = [
  { kind: 'library', rank: 0, ranks: 2 },
  {
    ...{ kind: 'kernels', rank: 0, inboxes: [256, 512], state: 768, aborted: 1024 },
    ...{ slots: 700, bulk: 900, bulkFrom: 32 << 10, blocks: 4, patience: 3 },
  },
];

/** The kernels of collectives, and of what linked ranks compute with them. */
function collectiveModules(target: HipCudaTarget): KernelModule[] {
  const graphs = COLLECTIVE_CASES.map((of) => (rankCases(of, 2)[0] as CaseData).graph);
  return LINKS.flatMap((peers) => modulesOf(graphs, { ...target, peers }));
}

/** Every kernel for models of any format and the device contract's cases, that of small copies, and the prelude's probes. */
export async function allModules(target: HipCudaTarget): Promise<KernelModule[]> {
  const formats = ALL_FORMATS.filter(({ name }) => !/^I\d/.test(name));
  const shape = syntheticShape('llama-2-7b');
  const graphs = formats.map((format) => modelGraphs(shape, format));
  // Heads of 256 need the most registers.
  const common = formats.filter(({ name }) => name === 'Q4_0');
  const large = common.map((format) => modelGraphs({ ...shape, heads: 16, kvHeads: 8 }, format));
  const all = (await Promise.all([...graphs, ...large])).flat();
  const own = modulesOf([...all, ...ALL_CASES.map(caseGraph)], target);
  const modules = [...(await modelModules(target)), ...own, ...collectiveModules(target), SMALL_COPY, PROBE];
  return [...new Map(modules.map((module) => [moduleKey(module), module])).values()];
}
