import type { GpuFacts } from '../../../device/index.ts';
import type { Weight } from '../../../ops/index.ts';
import type { GpuTarget } from '../gpu-target.ts';
import { WKV7_CHUNK, wkv7ChunkBytes } from '../kernels/wkv7-chunks.ts';
import { HEADS_AT_ONCE } from './attention.ts';
import { fitsTile } from './attention-tiles.ts';
import { canJoin, GROUP_LAYOUT } from './group-layout.ts';
import { packedFormat } from './packed-formats.ts';
import { MATVEC_ROWS, stagedBytes } from './staging.ts';
import { DENSE_LAYOUT } from './weight-layout.ts';

/** Intents without a kernel in WGSL. */
const LACKS = [
  'libraryProduct',
  'round',
  'roundedProduct',
  'splitHalves',
  'splitProduct',
  'matvecGroup',
  'gatedNorm',
  'reduceResidual',
  'pushedSum',
  'fusedGatedDelta',
] as const;

/** An intent without a kernel in WGSL. */
export type LackedIntent = (typeof LACKS)[number];

/** Workgroups that keep large GPUs busy; WebGPU does not report the number of multiprocessors. */
const WANTED_GROUPS = 256;
/** Minimum positions of a context partition. */
const MIN_PARTITION_LENGTH = 64;
/** Merging more partitions takes longer than they save. */
const MAX_PARTITIONS = 16;
/** Elements of a quantized group: f16 rows are whole groups. */
const GROUP = 32;

/** RWKV-7 head sizes whose threads are a power of two. */
const FUSED_HEAD = { unit: 32, max: 64 } as const;

/** The capabilities of a GPU under WebGPU. */
export function webgpuFacts(target: GpuTarget): GpuFacts<LackedIntent | 'attentionTiles'> {
  const { matrices, packedDot, storageBindings } = target;
  const productForm = matrices ? 'f16' : packedDot ? 'q8' : 'f32';
  return {
    device: 'webgpu',
    lacks: matrices ? LACKS : [...LACKS, 'attentionTiles'],
    fewRows: MATVEC_ROWS,
    matvecRows: MATVEC_ROWS,
    productForm: () => productForm,
    copiedRows: Number.POSITIVE_INFINITY,
    splitKernels: undefined,
    elementTiles: undefined,
    takesNumbers: true,
    mixesProducts: false,
    fusesNumbers: false,
    joins: (weights) => fitsOneChunk(weights, target),
    buffers: storageBindings,
    bindsOnce: true,
    stagedBytes: stagedBytes(target),
    minQuantizedOutputs: 0,
    mostPushed: 0,
    f16RowUnit: GROUP,
    attention: {
      headsAtOnce: () => HEADS_AT_ONCE,
      wantedGroups: () => WANTED_GROUPS,
      shortestPartition: MIN_PARTITION_LENGTH,
      mostPartitions: MAX_PARTITIONS,
      mergesInLastGroup: false,
      rowForms: ['f32', 'q8'],
      tileForms: ['f32', 'f16'],
      fitsTile: (op) => fitsTile(op, target),
      appendsBlocks: 'never',
    },
    experts: { readsNumbers: true, groupedForm: productForm, joinsHalves: false },
    wkv7: { chunkedHead: chunkedHead(target), fusedHead: FUSED_HEAD },
  };
}

/** The head size for which prompts are processed in chunks, if workgroup memory is large enough. */
function chunkedHead({ lanes, workgroupBytes, threads }: GpuTarget): number | undefined {
  const fits = workgroupBytes >= wkv7ChunkBytes(lanes) && threads >= WKV7_CHUNK.threads;
  return fits ? WKV7_CHUNK.head : undefined;
}

/** True for weights that can be stacked within one binding. */
function fitsOneChunk(weights: readonly Weight[], target: GpuTarget): boolean {
  const [first] = weights;
  if (!first || weights.some(({ format, columns }) => format !== first.format || columns !== first.columns)) {
    return false;
  }
  const packed = packedFormat(first.format) !== undefined;
  if (packed && !canJoin(weights)) return false;
  return (packed ? GROUP_LAYOUT : DENSE_LAYOUT).of(weights, target).chunks.length === 1;
}
