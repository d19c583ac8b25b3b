import type { AttentionTilesIntent } from '../../../device/index.ts';
import type { AttentionOp } from '../../../ops/index.ts';
import type { HipCudaTarget } from '../launching/kernel-set.ts';
import { attentionArgs, cacheDefines, scoreArgs } from './attention.ts';
import { int } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { matrixCores, matrixLanes } from './matrix-cores.ts';

const WAVES = 4;
/** Rows of a wave. */
const WAVE_ROWS = 16;
/** Positions of a tile, the more the better. */
const KEYS = [64, 32] as const;

/** Octets from one line of a shared tile to the next: `line_octets` of `attention-tiles.hip`. */
function lineOctets(size: number): number {
  return Math.floor((size / 8 + 3) / 8) * 8 + 4;
}

/** The tiles and scores in `Shared` of `attention-tiles.hip`. */
function tileBytes({ keySize, valueSize }: AttentionOp, keys: number): number {
  const rows = WAVES * WAVE_ROWS;
  const tiles = keys * lineOctets(keySize) + (valueSize + rows) * lineOctets(keys);
  return 16 * tiles + 4 * rows * (keys + 4);
}

/** The size of `Shared`: rows and cells follow the tiles. */
function sharedBytes(op: AttentionOp, keys: number): number {
  const rows = WAVES * WAVE_ROWS;
  return tileBytes(op, keys) + 4 * rows + 16 * keys + 8 * rows;
}

/** How many positions a tile has on the target; undefined where none fit, or the results not where the tiles were. */
function keysFor(op: AttentionOp, target: HipCudaTarget): number | undefined {
  const resultBytes = 2 * WAVES * WAVE_ROWS * op.valueSize;
  return KEYS.find(
    (keys) => sharedBytes(op, keys) <= target.sharedBytesOptIn && resultBytes <= tileBytes(op, keys),
  );
}

/** True where a wave's queries and sums stay in its registers, on matrix cores. */
function staysInRegisters({ keySize, valueSize }: AttentionOp, target: HipCudaTarget): boolean {
  const cores = matrixCores(target);
  if (!cores) return false;
  return (keySize / 32) * cores.fragmentWords + (valueSize / 16) * cores.sumWords <= cores.heldWords;
}

/** True where a tile for the operator has room on the target. */
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
