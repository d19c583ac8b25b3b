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

/** Size of `Shared`: rows and cells follow the tiles. */
function sharedBytes(op: AttentionOp, keys: number): number {
  const rows = WAVES * WAVE_ROWS;
  return tileBytes(op, keys) + 4 * rows + 16 * keys + 8 * rows;
}

/** Positions per tile on the target; undefined if none fit, or if the results do not fit into the tiles' memory. */
function keysFor(op: AttentionOp, target: HipCudaTarget): number | undefined {
  const resultBytes = 2 * WAVES * WAVE_ROWS * op.valueSize;
  return KEYS.find(
    (keys) => sharedBytes(op, keys) <= target.sharedBytesOptIn && resultBytes <= tileBytes(op, keys),
  );
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
  return whole && staysInRegisters(op, target) && keysFor(op, target) !== undefined;
}

/** Attention on the matrix cores; its result is f16. */
export function emitAttentionTiles({ op, y }: AttentionTilesIntent, to: Lowering): void {
  const { cache, kvHeads, heads } = op;
  const keys = keysFor(op, to.target) ?? 0;
  to.launch({
    file: 'attention-tiles.hip',
    kernel: 'attention_tiles',
    defines: {
      ...cacheDefines(cache),
      ...latentDefines(cache),
      ...alibiDefines(op),
      KEY: op.keySize,
      VALUE: op.valueSize,
      GROUP: heads / kvHeads,
      KEYS: keys,
    },
    grid: [Math.ceil(to.capacity(op.out) / (WAVES * WAVE_ROWS)), heads],
    block: WAVES * matrixLanes(to.target),
    sharedBytes: sharedBytes(op, keys),
    args: [...attentionArgs(op, to), y, int(kvHeads), ...scoreArgs(op, to)],
  });
}
