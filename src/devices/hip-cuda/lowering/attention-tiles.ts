import type { AttentionOp } from '../../../ops/index.ts';
import { attentionArgs, cacheDefines, scoreArgs } from './attention.ts';
import type { Operand } from './launch-plan.ts';
import { int } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { matrixCores, matrixLanes } from './matrix-cores.ts';

const WAVES = 4;
/** Rows of a wave. */
const WAVE_ROWS = 16;
/** Positions of a tile, the more the better. */
const KEYS = [64, 32] as const;
/** With fewer rows a sequence, a tile would be mostly empty. */
const LEAST_ROWS_A_SLOT = 4;

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

/** The size of `Shared`: what rows and cells are stands behind the tiles. */
function sharedBytes(op: AttentionOp, keys: number): number {
  const rows = WAVES * WAVE_ROWS;
  return tileBytes(op, keys) + 4 * rows + 16 * keys + 8 * rows;
}

/** How many positions a tile has on the target; undefined where none fit, or the results not where the tiles were. */
function keysFor(op: AttentionOp, to: Lowering): number | undefined {
  const resultBytes = 2 * WAVES * WAVE_ROWS * op.valueSize;
  return KEYS.find(
    (keys) => sharedBytes(op, keys) <= to.target.sharedBytesOptIn && resultBytes <= tileBytes(op, keys),
  );
}

/** True where a wave's queries and sums stay in its registers, on matrix cores. */
function staysInRegisters({ keySize, valueSize }: AttentionOp, { target }: Lowering): boolean {
  const cores = matrixCores(target);
  if (!cores) return false;
  return (keySize / 32) * cores.fragmentWords + (valueSize / 16) * cores.sumWords <= cores.heldWords;
}

/** True for attention of many rows a sequence over a cache of halves or blocks, whose result may be rounded to halves. */
export function fitsTiles(op: AttentionOp, to: Lowering): boolean {
  const { slots } = to.graph.shape;
  const many = to.capacity(op.out) >= LEAST_ROWS_A_SLOT * slots;
  const whole = op.keySize % 32 === 0 && op.valueSize % 32 === 0;
  const fits = staysInRegisters(op, to) && keysFor(op, to) !== undefined;
  return many && whole && op.cache.keys.type !== 'f32' && fits;
}

/** Attention on the matrix cores; `out` is half floats. */
export function launchTiles(op: AttentionOp, to: Lowering, out: Operand): void {
  const { cache, kvHeads, heads } = op;
  const keys = keysFor(op, to) ?? 0;
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
    args: [...attentionArgs(op, to), out, int(kvHeads), ...scoreArgs(op)],
  });
}
