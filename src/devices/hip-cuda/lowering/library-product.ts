import { alignUp } from '../../../base/bytes.ts';
import {
  type HalfType,
  type LibraryProductIntent,
  packedGroups,
  type ProductIntent,
  type RoundedProductIntent,
} from '../../../device/index.ts';
import { F32 } from '../../../formats/index.ts';
import type { Tensor, Weight } from '../../../ops/index.ts';
import { addendOf } from './epilogue.ts';
import { finishProduct } from './finish-product.ts';
import type { Operand } from './launch-plan.ts';
import { int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { weightScale } from './packed-formats.ts';
import { F16_CHUNK } from './staging.ts';
import {
  DEQUANTIZE_THREADS,
  dequantizedOctets,
  dequantizeModule,
  FILE_LAYOUT,
  GROUP_LAYOUT,
} from './weight-layout.ts';

/** Maximum workspace of the library's kernels for Hopper. */
const WORKSPACE_BYTES = 32 << 20;

/** Multiplies with the library by the weights' dequantized copy, which is made for it where they have none that stays. */
export function emitLibraryProduct(of: LibraryProductIntent, to: Lowering): void {
  const { x, weights } = of;
  const [first] = weights as [Weight];
  const columns = alignUp(first.columns, F16_CHUNK);
  const factor = 1 / weightScale(first.format);
  multiply({ ...of, type: 'f16', columns, factor, w: dequantized(weights, to), x: x.x }, to);
}

function dequantized(weights: readonly Weight[], to: Lowering): Operand {
  const packed = to.weight(weights, GROUP_LAYOUT);
  const { byteLength, dequantizedBytes = 0 } = packed;
  if (dequantizedBytes > 0) return { kind: 'address', of: packed, offset: byteLength - dequantizedBytes };
  const [{ columns }] = weights as [Weight];
  const rows = weights.reduce((sum, weight) => sum + weight.rows, 0);
  const octets = dequantizedOctets(rows, columns);
  const made = to.temporary(16 * octets);
  to.launch({
    ...dequantizeModule(weights),
    kernel: 'decode_f16',
    grid: [Math.ceil(octets / DEQUANTIZE_THREADS)],
    block: DEQUANTIZE_THREADS,
    args: [packed, int(rows), int(columns / 32), int(0), int(rows), made],
  });
  return made;
}

/** Multiplies rounded activations by the weights as stored in the file. */
export function emitRoundedProduct(of: RoundedProductIntent, to: Lowering): void {
  const { x, weight } = of;
  const w = to.weight([weight], FILE_LAYOUT);
  const { columns } = weight;
  multiply({ ...of, type: x.type, columns, factor: 1, weights: [weight], w, x: x.memory }, to);
}

/** A product whose numbers are as the library takes them. */
interface ReadyProduct {
  readonly rows: Tensor;
  readonly type: HalfType;
  readonly columns: number;
  /** On the sums. */
  readonly factor: number;
  readonly weights: readonly Weight[];
  readonly x: Operand;
  readonly w: Operand;
  readonly epilogue: LibraryProductIntent['epilogue'];
}

/**
 * Multiplies with the library, which adds a residual, too; a launch of its own does the rest of the epilogue. The library's sums include
 * unused rows: scratch may contain these, but externally bound memory only where the graph says so.
 */
function multiply(
  { rows, type, columns, factor, weights, x, w, epilogue }: ReadyProduct,
  to: Lowering,
): void {
  const capacity = to.capacity(rows);
  const width = weights.reduce((sum, weight) => sum + weight.rows, 0);
  const addend = addendOf(epilogue, to);
  const isWhole = epilogue.kind === 'residual' || (epilogue.kind === 'store' && addend === NULL);
  const results = takesHalves({ type, weights, epilogue }) ? 'f16' : 'f32';
  const bytes = (results === 'f16' ? 2 : 4) * capacity * width;
  const sums = isWhole && to.mayFill(epilogue.y) ? epilogue.y : to.temporary(bytes);
  const added = sums === epilogue.y ? addend : NULL;
  to.multiply({
    shape: { type, results, rows: capacity, outputs: width, columns, workspaceBytes: WORKSPACE_BYTES },
    factor,
    args: [x, w, sums, to.temporary(WORKSPACE_BYTES), added],
  });
  if (sums === epilogue.y) return;
  finishProduct({ rows, weights, epilogue, sums, type: results, pieces: 1 }, to);
}

/**
 * Whether gates and ups of quantized weights are halves in memory, which read and write half as much: their product becomes halves anyway.
 */
function takesHalves({
  type,
  weights,
  epilogue,
}: Pick<ReadyProduct, 'type' | 'weights' | 'epilogue'>): boolean {
  const isQuantized = weights.every(({ format }) => packedGroups(format) !== undefined);
  const becomesHalves =
    epilogue.kind === 'gated' && (epilogue.form === 'f16' || epilogue.form === 'core-matrices');
  return becomesHalves && type === 'f16' && isQuantized;
}

/** Minimum rows for which the library is faster by weights of f32. */
const MIN_FLOAT_ROWS = 64;

/**
 * Multiplies by weights of f32 with the library, such as a mixture's router; false if it cannot: without a library, for
 * few rows, with a bias, and into memory that must not have unused rows.
 */
export function tryFloatProduct({ rows, x, weights, epilogue }: ProductIntent, to: Lowering): boolean {
  const [weight] = weights as [Weight];
  const capacity = to.capacity(rows);
  const isPlain = addendOf(epilogue, to) === NULL && to.mayFill(epilogue.y);
  if (!to.target.blas || weight.format !== F32 || capacity < MIN_FLOAT_ROWS || !isPlain) return false;
  const { rows: outputs, columns } = weight;
  to.multiply({
    shape: { type: 'f32', results: 'f32', rows: capacity, outputs, columns, workspaceBytes: WORKSPACE_BYTES },
    factor: 1,
    args: [x.x, to.weight([weight], FILE_LAYOUT), epilogue.y, to.temporary(WORKSPACE_BYTES), NULL],
  });
  return true;
}
