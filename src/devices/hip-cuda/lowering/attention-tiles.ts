import { invariant } from '../../../base/errors.ts';
import type { AttentionTilesIntent } from '../../../device/index.ts';
import type { AttentionOp } from '../../../ops/index.ts';
import type { HipCudaTarget } from '../launching/kernel-set.ts';
import { alibiDefines, attentionArgs, cacheDefines, latentDefines, scoreArgs } from './attention.ts';
import { int } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { matrixCores, matrixLanes } from './matrix-cores.ts';

/** How a kernel computes attention in tiles. */
interface Tiling {
  readonly file: 'attention-tiles.hip' | 'attention-tiles-mma.hip' | 'attention-tiles-wide.hip';
  /** Positions per tile. */
  readonly keys: number;
  /** Query heads of a key head that share a block's tiles. */
  readonly heads: number;
  /** Rows per block. */
  readonly rows: number;
  readonly waves: number;
  /** Shared memory of a block. */
  readonly bytes: number;
}

const WAVES = 4;
/** Lines of queries per wave. */
const WAVE_LINES = 16;
/** Lines of queries per block; waves of several heads have as many each. */
const LINES = WAVES * WAVE_LINES;
/** Size of a head up to which NVIDIA's registers hold a wave's scores, too, beside its queries and sums. */
const MAX_HELD_HEAD = 128;
/** Waves that share lines in `attention-tiles-wide.hip`: COLUMN_WAVES there. */
const COLUMN_WAVES = 2;
/** Most heads of its lines: more rows per block fill it if fewer are left. */
const MAX_WIDE_HEADS = 16;
/** Positions per tile, best first. */
const KEYS = [64, 32] as const;

/** Stride of the lines of a shared tile, in octets: `line_octets` of `attention-tiles.hip`. */
function lineOctets(size: number): number {
  return Math.floor((size / 8 + 3) / 8) * 8 + 4;
}

/** `attention-tiles.hip`, on any matrix cores: a wave's queries and sums stay in its registers. */
function plainTiling({ keySize, valueSize }: AttentionOp, target: HipCudaTarget): Tiling | undefined {
  const cores = matrixCores(target);
  if (!cores) return undefined;
  const held = (keySize / 32) * cores.fragmentWords + (valueSize / 16) * cores.sumWords;
  if (held > cores.heldWords) return undefined;
  return bestTiling(target, (keys) => {
    const octets = keys * lineOctets(keySize) + (valueSize + LINES) * lineOctets(keys);
    const tiles = 16 * octets + 4 * LINES * (keys + 4);
    if (2 * LINES * valueSize > tiles) return undefined;
    // Factors of the lines, cells of the tiles, places of the rows.
    const bytes = tiles + 4 * LINES + 16 * keys + 8 * LINES;
    return { file: 'attention-tiles.hip', keys, heads: 1, rows: LINES, waves: WAVES, bytes };
  });
}

/** `attention-tiles-mma.hip`: scores stay in registers, too, where a lane holds of them what it multiplies with the values. */
function heldTiling(op: AttentionOp, target: HipCudaTarget): Tiling | undefined {
  const { keySize, valueSize } = op;
  if (keySize > MAX_HELD_HEAD || valueSize > MAX_HELD_HEAD) return undefined;
  const heads = (op.heads / op.kvHeads) % 2 === 0 ? 2 : 1;
  return bestTiling(target, (keys) => {
    const tiles = 2 * 16 * keys * (lineOctets(keySize) + valueSize / 8 + 1);
    if (2 * LINES * heads * valueSize > tiles) return undefined;
    const bytes = tiles + 16 * keys + 8 * LINES;
    return { file: 'attention-tiles-mma.hip', keys, heads, rows: LINES, waves: WAVES * heads, bytes };
  });
}

/** `attention-tiles-wide.hip`: a block's lines are rows times heads. */
function wideTiling(op: AttentionOp, target: HipCudaTarget): Tiling | undefined {
  const { keySize, valueSize, cache } = op;
  if (keySize % 64 !== 0 || valueSize % 128 !== 0) return undefined;
  const group = op.heads / op.kvHeads;
  let heads = MAX_WIDE_HEADS;
  while (group % heads !== 0) heads /= 2;
  const rows = LINES / heads;
  return bestTiling(target, (keys) => {
    const tiles = 4 * keys * (keySize + (cache.values ? valueSize : 0));
    const lines = 2 * LINES * (keySize + keys) + 4 * COLUMN_WAVES * LINES;
    const bytes = tiles + lines + 16 * keys + 8 * rows;
    return { file: 'attention-tiles-wide.hip', keys, heads, rows, waves: WAVES * COLUMN_WAVES, bytes };
  });
}

/** The tiling with the most positions that fits into the target's shared memory. */
function bestTiling(
  { sharedBytesOptIn }: HipCudaTarget,
  tilingOf: (keys: number) => Tiling | undefined,
): Tiling | undefined {
  const tilings = KEYS.map(tilingOf);
  return tilings.find((tiling) => tiling && tiling.bytes <= sharedBytesOptIn);
}

/** How the operator is computed on the target; undefined if no tile of it fits. */
function tilingOf(op: AttentionOp, target: HipCudaTarget): Tiling | undefined {
  if (op.keySize % 32 !== 0 || op.valueSize % 32 !== 0) return undefined;
  const own = target.vendor === 'nvidia' ? (heldTiling(op, target) ?? wideTiling(op, target)) : undefined;
  return own ?? plainTiling(op, target);
}

/** True if a tile for the operator fits on the target. */
export function fitsTile(op: AttentionOp, target: HipCudaTarget): boolean {
  return tilingOf(op, target) !== undefined;
}

/** Attention on the matrix cores; its result has sixteen bits: see `results.h`. */
export function emitAttentionTiles({ op, y, form }: AttentionTilesIntent, to: Lowering): void {
  const { cache, kvHeads, heads } = op;
  const tiling = tilingOf(op, to.target);
  invariant(tiling, 'attention is planned in tiles where one fits');
  to.launch({
    file: tiling.file,
    kernel: 'attention_tiles',
    defines: {
      ...cacheDefines(cache),
      ...latentDefines(cache),
      ...alibiDefines(op),
      KEY: op.keySize,
      VALUE: op.valueSize,
      GROUP: heads / kvHeads,
      KEYS: tiling.keys,
      ROUNDED: form.startsWith('rounded') ? 1 : 0,
      BFLOATS: form === 'rounded-bf16' ? 1 : 0,
      ...(form === 'core-matrices' && { CORE_MATRICES: 1 }),
      ...(tiling.file !== 'attention-tiles.hip' && { HEADS: tiling.heads }),
    },
    grid: [heads / tiling.heads, Math.ceil(to.capacity(op.out) / tiling.rows)],
    block: tiling.waves * matrixLanes(to.target),
    sharedBytes: tiling.bytes,
    args: [...attentionArgs(op, to), y, int(kvHeads), ...scoreArgs(op, to)],
  });
}
