import type { GpuFacts } from '../../../device/index.ts';
import type { HipCudaTarget } from '../launching/kernel-set.ts';
import { MAX_PARTITIONS, rowKernel, wantedBlocks } from './attention.ts';
import { fitsTile } from './attention-tiles.ts';
import { mostAtOnce } from './collectives.ts';
import { elementTiles } from './element-tiles.ts';
import { splitKernels } from './split-product.ts';
import { F16_CHUNK, MATVEC_ROWS, matvecRows, stagedBytes } from './staging.ts';
import { copiedRows, isWarpgroupProduct } from './warpgroup-product.ts';
import { CHUNKED_HEAD, FUSED_HEAD } from './wkv7.ts';

/** Intents that need the driver's BLAS library, which may be missing, and those of products on matrix cores by unquantized weights. */
const OF_THE_LIBRARY = ['libraryProduct', 'round', 'roundedProduct'] as const;
const SPLIT = ['splitHalves', 'splitProduct'] as const;

/** Outputs of a block that quantizes them. */
const QUANTIZED_OUTPUTS = 32;
/** Minimum positions of a context partition. */
const MIN_PARTITION_LENGTH = 32;

type Lacked = (typeof OF_THE_LIBRARY)[number] | (typeof SPLIT)[number];

function lacking(target: HipCudaTarget): readonly Lacked[] {
  return [...(target.blas ? [] : OF_THE_LIBRARY), ...(splitKernels(target) ? [] : SPLIT)];
}

/** The capabilities of a GPU under HIP or CUDA: there are kernels for every intent. */
export function hipCudaFacts(target: HipCudaTarget): GpuFacts<Lacked> {
  return {
    device: target.api,
    lacks: lacking(target),
    fewRows: MATVEC_ROWS,
    matvecRows: matvecRows(target),
    productForm: (weights, rows) => (isWarpgroupProduct(weights, rows, target) ? 'core-matrices' : 'f16'),
    copiedRows: copiedRows(target),
    splitKernels: splitKernels(target),
    elementTiles: elementTiles(target),
    takesNumbers: false,
    mixesProducts: true,
    fusesNumbers: true,
    joins: () => true,
    buffers: Number.POSITIVE_INFINITY,
    bindsOnce: false,
    stagedBytes: stagedBytes(target),
    minQuantizedOutputs: (QUANTIZED_OUTPUTS * target.multiprocessors) / 2,
    mostPushed: target.peers?.kind === 'kernels' ? mostAtOnce(target.peers) : 0,
    f16RowUnit: F16_CHUNK,
    attention: {
      headsAtOnce: (op, rows) => rowKernel(op, rows, target).heads,
      wantedGroups: (op, rows) => wantedBlocks(op, rows, target),
      shortestPartition: MIN_PARTITION_LENGTH,
      mostPartitions: MAX_PARTITIONS,
      mergesInLastGroup: true,
      rowForms: ['f32', 'q8', 'f16', 'core-matrices'],
      tileForms: ['f16', 'core-matrices', 'rounded-f16', 'rounded-bf16'],
      fitsTile: (op) => fitsTile(op, target),
      appendsBlocks: 'interleaved',
    },
    experts: { readsNumbers: true, groupedForm: 'f16', joinsHalves: true },
    wkv7: { chunkedHead: CHUNKED_HEAD, fusedHead: FUSED_HEAD },
  };
}
