import { invariant } from '../../../base/errors.ts';
import type { AttentionTilesIntent } from '../../../device/index.ts';
import type { AttentionOp } from '../../../ops/index.ts';
import type { HipCudaTarget } from '../launching/kernel-set.ts';
import { alibiDefines, attentionArgs, cacheDefines, latentDefines, scoreArgs } from './attention.ts';
import { int } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { matrixCores, matrixLanes } from './matrix-cores.ts';

const WAVES = 4;
/** Rows per wave. */
const WAVE_ROWS = 16;
/** Size of a head up to which NVIDIA's registers hold a wave's scores, too, beside its queries and sums. */
const MAX_HELD_HEAD = 128;
/** Positions per tile, best first. */
const KEYS = [64, 32] as const;

/** Stride of the lines of a shared tile, in octets: `line_octets` of `attention-tiles.hip`. */
function lineOctets(size: number): number {
  return Math.floor((size / 8 + 3) / 8) * 8 + 4;
}

/** Bytes of the tiles and scores in `Shared` of `attention-tiles.hip`. */
function tileBytes({ keySize, valueSize }: AttentionOp, keys: number): number {
  const rows = WAVES * WAVE_ROWS;
  const tiles = keys * lineOctets(keySize) + (valueSize + rows) * lineOctets(keys);
  return 16 * tiles + 4 * rows * (keys + 4);
}

/** True if scores stay in registers, where a lane holds of them what it multiplies with the values. */
function holdsScores({ keySize, valueSize }: AttentionOp, { vendor }: HipCudaTarget): boolean {
  return vendor === 'nvidia' && keySize <= MAX_HELD_HEAD && valueSize <= MAX_HELD_HEAD;
}

/** Bytes of the two tiles of keys and of values in `Shared` of `attention-tiles-mma.hip`. */
function heldTileBytes({ keySize, valueSize }: AttentionOp, keys: number): number {
  return 2 * 16 * keys * (lineOctets(keySize) + valueSize / 8 + 1);
}

/** What a block has in shared memory: rows and cells follow the tiles, which give way to the results of `heads` heads. */
function sharedBytes(
  op: AttentionOp,
  keys: number,
  { target, heads }: { target: HipCudaTarget; heads: number },
): number | undefined {
  const rows = WAVES * WAVE_ROWS;
  const holds = holdsScores(op, target);
  const tiles = holds ? heldTileBytes(op, keys) : tileBytes(op, keys);
  const factors = holds ? 0 : 4 * rows;
  const bytes = tiles + factors + 16 * keys + 8 * rows;
  return bytes <= target.sharedBytesOptIn && 2 * rows * heads * op.valueSize <= tiles ? bytes : undefined;
}

/** Query heads of a key head that share a block's tiles, where one head's rows leave room for another's. */
function headsTogether(op: AttentionOp, target: HipCudaTarget): number {
  return holdsScores(op, target) && (op.heads / op.kvHeads) % 2 === 0 ? 2 : 1;
}

/** Positions per tile on the target, and a block's shared memory; undefined if none fit. */
function tileFor(op: AttentionOp, target: HipCudaTarget): { keys: number; bytes: number } | undefined {
  const heads = headsTogether(op, target);
  for (const keys of KEYS) {
    const bytes = sharedBytes(op, keys, { target, heads });
    if (bytes !== undefined) return { keys, bytes };
  }
  return undefined;
}

/** True if a wave's queries and sums fit into its registers, on matrix cores. */
function staysInRegisters({ keySize, valueSize }: AttentionOp, target: HipCudaTarget): boolean {
  const cores = matrixCores(target);
  if (!cores) return false;
  return (keySize / 32) * cores.fragmentWords + (valueSize / 16) * cores.sumWords <= cores.heldWords;
}

/** True if a tile for the operator fits on the target. */
export function fitsTile(op: AttentionOp, target: HipCudaTarget): boolean {
  const whole = op.keySize % 32 === 0 && op.valueSize % 32 === 0;
  return whole && staysInRegisters(op, target) && tileFor(op, target) !== undefined;
}

/** Attention on the matrix cores; its result is f16. */
export function emitAttentionTiles({ op, y }: AttentionTilesIntent, to: Lowering): void {
  const { cache, kvHeads, heads } = op;
  const { target } = to;
  const tile = tileFor(op, target);
  invariant(tile, 'attention is planned in tiles where one fits');
  const together = headsTogether(op, target);
  const holds = holdsScores(op, target);
  to.launch({
    file: holds ? 'attention-tiles-mma.hip' : 'attention-tiles.hip',
    kernel: 'attention_tiles',
    defines: {
      ...cacheDefines(cache),
      ...latentDefines(cache),
      ...alibiDefines(op),
      KEY: op.keySize,
      VALUE: op.valueSize,
      GROUP: heads / kvHeads,
      KEYS: tile.keys,
      ...(holds ? { HEADS: together } : {}),
    },
    grid: [Math.ceil(to.capacity(op.out) / (WAVES * WAVE_ROWS)), heads / together],
    block: WAVES * together * matrixLanes(target),
    sharedBytes: tile.bytes,
    args: [...attentionArgs(op, to), y, int(kvHeads), ...scoreArgs(op, to)],
  });
}
