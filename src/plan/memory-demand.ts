import { alignUp } from '../base/bytes.ts';
import { BUFFER_ALIGNMENT } from '../device/index.ts';
import type { TensorFormat } from '../formats/index.ts';
import type { LazyTensor } from '../load/lazy-tensor.ts';
import { sizesFor } from '../load/loader-sizes.ts';
import { tableName } from '../model/state-groups.ts';
import { SAMPLING_ROW_WORDS } from '../ops/sampling/sampling-row.ts';
import { stateBytes, weightRowBytes } from '../ops/value.ts';
import { BatchInputs } from './inputs/batch-inputs.ts';
import { type PersistentInput, PersistentInputs } from './inputs/persistent-inputs.ts';
import { type BufferSize, BufferSizes } from './memory/buffer-sizes.ts';
import { checkpointName } from './memory/slot-memory.ts';
import type { BatchPlan } from './steps/batch-plan.ts';
import { type ModelPart, stateName } from '../model/model-graphs.ts';
import type { MemoryDemand } from './memory/fit-plan.ts';
import { HostEmbedding } from './inputs/host-embedding.ts';
import type { PlanSetup } from './parts/plan-setup.ts';
import type { StreamableParts } from './memory/weight-placement.ts';

/** Plans that share every buffer, because they run one at a time; the largest is last. */
export interface CompiledPlans {
  readonly setup: PlanSetup;
  readonly plans: readonly BatchPlan[];
  readonly streamable: StreamableParts;
}

/** The memory that a compiled model needs; of a pipeline, that which a stage needs. */
export function memoryDemand({ setup, plans, streamable }: CompiledPlans, stage?: number): MemoryDemand {
  const { poolWeights, context } = setup;
  const slotCount = inputSlots(setup);
  const device = stage === undefined ? setup.device : (setup.device.stages?.[stage] ?? setup.device);
  const { memoryRules: rules } = device;
  const isLast = stage === undefined || device === setup.device.stages?.at(-1);
  // Those of a pipeline are the last stage's.
  const hasPinned = isLast && rules.pinnedInside('inputs');
  const cache = new Set([
    ...plans.flatMap(({ parts }) =>
      parts.flatMap(({ part }) => part.graph.states.map((state) => stateName(part, state))),
    ),
    ...[...checkpointSizes(plans, setup)].map(([name]) => name),
  ]);
  const all = [...bufferSizesOf(plans, setup)];
  const buffers = all.filter(([, { stages }]) => stage === undefined || stages?.includes(stage));
  const bytesOf = (isCache: boolean) =>
    buffers
      .filter(([name]) => cache.has(name) === isCache)
      .map(([, { bytes }]) => alignUp(bytes, BUFFER_ALIGNMENT));
  const allWeights = weightsOf(plans);
  const weights = allWeights.map((part) => part.filter(({ packed }) => packed.stage === stage));
  const onHost = setup.decode === 'host' || !setup.device.readyToDecode;
  const isDecoded = onHost && allWeights.flat().some(isConverted);
  const waits = weights
    .flat()
    .some((weight) => handedOver(weight, onHost).some((format) => weight.packed.waits?.(format)));
  // One loader is that of all stages.
  const movedBytes = allWeights.flat().flatMap(partBytes);
  return {
    parts: weights,
    streamable,
    poolBytes: poolWeights ? rules.largestBuffer : undefined,
    rules,
    cache: bytesOf(true),
    scratch: [
      ...bytesOf(false),
      ...plans.flatMap(({ readInputs }) =>
        inputBytes(BatchInputs.byteLength(readInputs), slotCount, hasPinned),
      ),
      ...inputBytes(PersistentInputs.byteLength(persistentInputs(setup)), slotCount, hasPinned),
      ...(hasPinned ? [...hostRowBytes(setup), ...passageBytes(all)] : []),
    ],
    waits,
    copied: copiedNames(weights.flat()),
    pages: weights.map((part) => (setup.device.pinReadOnly ? mappedBytes(part, onHost) : 0)),
    expertPages: setup.experts && setup.device.pinReadOnly ? mappedBytes(slotted(weights), onHost) : 0,
    expertSlots: Math.max(0, ...(plans.at(-1)?.parts ?? []).map(({ part }) => slotsOf(part))),
    // Of a pipeline, those of the last stage, which reads them.
    host: isLast ? (setup.hostTables ?? []).reduce((sum, { tensor }) => sum + tensor.byteLength, 0) : 0,
    hasRing: isLast,
    loader: (isStreamed) =>
      sizesFor(movedBytes, {
        isStreamed: isStreamed || setup.experts !== undefined,
        isDecoded,
        isSplit: setup.device.group !== undefined,
        isPinned: setup.device.pin !== undefined,
      }),
    context,
  };
}

/** Sizes of the pinned buffers of the last stage through which values pass that several stages have. */
function passageBytes(buffers: readonly (readonly [name: string, BufferSize])[]): number[] {
  return buffers.flatMap(([, { bytes, stages = [] }]) =>
    stages.length > 1 ? [alignUp(bytes, BUFFER_ALIGNMENT)] : [],
  );
}

/** Elements from which on a matrix is worth mentioning. */
const LARGE_MATRIX = 2 ** 20;

/** The large matrices of which every device of a group has all, by their names in any layer. */
function copiedNames(weights: readonly LazyTensor[]): string[] {
  const large = weights
    .filter(({ packed }) => packed.isCopied)
    .flatMap(({ tensors }) => tensors.filter(({ elementCount }) => elementCount >= LARGE_MATRIX));
  return [...new Set(large.map(({ name }) => name.replace(/^blk\.\d+\./, 'blk.*.')))];
}

function slotsOf({ experts, hotExperts }: ModelPart): number {
  return (experts ?? hotExperts)?.slots ?? 0;
}

/** Places for the small inputs of steps: for those in flight, and for those of a predictor that follow one of them. */
export function inputSlots({ inFlight, chained = 0 }: PlanSetup): number {
  return inFlight + chained;
}

/** The weights that each part reads under any of the plans, each once. */
export function weightsOf(plans: readonly BatchPlan[]): LazyTensor[][] {
  const [first] = plans;
  return (first?.parts ?? []).map((_, part) => {
    return [...new Set(plans.flatMap(({ parts }) => [...(parts[part]?.weights.values() ?? [])]))];
  });
}

/** Every buffer by name, excluding weights and inputs. */
export function bufferSizesOf(plans: readonly BatchPlan[], setup: PlanSetup): BufferSizes {
  const sizes = checkpointSizes(plans, setup);
  for (const plan of plans) sizes.join(plan.bufferSizes());
  return sizes;
}

/** Device bytes of each layer's weights and states on the stage, or each device of the stage, that has it. */
export function layerMemory(plans: readonly BatchPlan[], setup: PlanSetup): readonly number[] {
  const { graphs, parts = [] } = plans.at(-1) ?? {};
  const layers = new Set(graphs?.layers);
  const weights = weightsOf(plans);
  const sizes = new Map(bufferSizesOf(plans, setup));
  const counted = new Set<LazyTensor | string>();
  const bytes = Array.from({ length: graphs?.layers.at(-1)?.order ?? 0 }, () => 0);
  for (const [index, { part }] of parts.entries()) {
    if (!layers.has(part)) continue;
    const states = part.graph.states.map((state) => stateName(part, state));
    const taken = new Map<LazyTensor | string, number>([
      ...(weights[index] ?? []).map((weight) => [weight, weight.byteLength] as const),
      ...[...states, ...states.map(checkpointName)].map(
        (name) => [name, sizes.get(name)?.bytes ?? 0] as const,
      ),
    ]);
    for (const [what, of] of taken) {
      // What several layers use counts with the first.
      if (!counted.has(what)) bytes[part.order - 1] = (bytes[part.order - 1] ?? 0) + of;
      counted.add(what);
    }
  }
  return bytes;
}

/** The inputs that stay on the device between steps: block tables and sampling parameters. */
export function persistentInputs({ shape, state }: PlanSetup): PersistentInput[] {
  const tables = Math.max(1, state.groups.filter(({ kind }) => kind !== 'slots').length);
  const words = shape.slots * shape.blocksPerSlot;
  return [
    ...Array.from({ length: tables }, (_, place) => ({ name: tableName(place), words })),
    { name: 'parameters', words: shape.outputs * SAMPLING_ROW_WORDS },
  ];
}

/** The checkpoints of states, if there are any. */
function checkpointSizes(plans: readonly BatchPlan[], { state: size }: PlanSetup): BufferSizes {
  const sizes = new BufferSizes();
  if (!size.checkpoints) return sizes;
  for (const { part } of plans.at(-1)?.parts ?? []) {
    for (const { state, group } of part.grouped ?? []) {
      if (size.groups[group]?.kind !== 'slots') continue;
      sizes.add(checkpointName(stateName(part, state)), stateBytes(state), part.graph.stage);
    }
  }
  return sizes;
}

/** Bytes of each tensor of a weight, in the file or as packed, whichever is more. */
function partBytes({ packed, tensors }: LazyTensor): number[] {
  return packed.parts.map((of, i) => Math.max(of.rows * weightRowBytes(of), tensors[i]?.byteLength ?? 0));
}

/** The formats in which a weight's tensors are handed to the device. */
function handedOver({ packed, tensors }: LazyTensor, isDecodedOnHost: boolean): TensorFormat[] {
  return tensors.map((tensor, part) => (isDecodedOnHost && packed.parts[part]?.format) || tensor.format);
}

/** Bytes of the tensors whose rows are moved unchanged from a file that can be mapped. */
function mappedBytes(weights: readonly LazyTensor[], decodedOnHost: boolean): number {
  const moved = weights.filter((weight) => !(decodedOnHost && isConverted(weight)));
  const mapped = moved.flatMap(({ tensors }) => tensors.filter(({ source }) => source.map));
  return mapped.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/** The device bytes of one more slot for an expert in each layer. */
export function expertSlotBytes(plans: readonly BatchPlan[]): number {
  return slotted(weightsOf(plans)).reduce(
    (sum, { byteLength, slots }) => sum + byteLength / (slots?.slots ?? 1),
    0,
  );
}

/** The weights of experts that have slots for some of them, each once. */
function slotted(weights: readonly (readonly LazyTensor[])[]): LazyTensor[] {
  return [...new Set(weights.flat().filter(({ slots }) => slots !== undefined))];
}

/** True for a weight that does not keep the file's format. */
function isConverted({ packed, tensors }: LazyTensor): boolean {
  return tensors.some(({ format }, part) => format !== packed.parts[part]?.format);
}

/** Sizes of the buffers of small inputs; those in pinned memory only if that counts as device memory. */
function inputBytes(byteLength: number, slotCount: number, hasPinned: boolean): number[] {
  const count = hasPinned ? 1 + slotCount : 1;
  return Array.from({ length: count }, () => byteLength);
}

/** Sizes of the pinned buffers for rows of embeddings on the host. */
function hostRowBytes({ hostTables = [], inFlight, shape }: PlanSetup): number[] {
  return hostTables.flatMap((table) =>
    Array.from({ length: inFlight }, () => HostEmbedding.slotBytes(table, shape.rows)),
  );
}
