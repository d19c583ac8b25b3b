import type { ConvertIntent, SplitHalvesIntent } from '../../../device/index.ts';
import { float, int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

/** Converts activations to the form that products read. */
export function emitConvert(of: ConvertIntent, to: Lowering): void {
  if (of.form === 'f16') toF16(of, to);
  else if (of.norm) normQuantize(of, of.norm, to);
  else quantize(of, to);
}

/** Converts a tensor to the form that kernels for the matrix cores read. */
function toF16({ x, norm, parts, y }: ConvertIntent, to: Lowering): void {
  to.launch({
    file: 'convert-f16.hip',
    kernel: 'convert_f16',
    defines: { NORMED: norm ? 1 : 0 },
    grid: [parts * to.capacity(x)],
    block: 256,
    args: [
      to.count(x),
      x,
      norm ? to.weight([norm.weight], FLOAT_LAYOUT) : NULL,
      y,
      int(x.width / parts),
      int(parts),
      float(norm?.epsilon ?? 0),
    ],
  });
}

function quantize({ x, y }: ConvertIntent, to: Lowering): void {
  const rows = to.capacity(x);
  to.launch({
    file: 'quantize.hip',
    kernel: 'quantize_rows',
    grid: [Math.ceil((rows * x.width) / 8 / 128)],
    block: 128,
    args: [to.count(x), x, y, int(rows), int(x.width / 32)],
  });
}

function normQuantize(
  { x, y }: ConvertIntent,
  { weight, epsilon }: NonNullable<ConvertIntent['norm']>,
  to: Lowering,
): void {
  const rows = to.capacity(x);
  to.launch({
    file: 'norm-quantize.hip',
    kernel: 'norm_quantize',
    grid: [rows],
    block: 256,
    args: [
      to.count(x),
      x,
      to.weight([weight], FLOAT_LAYOUT),
      y,
      int(rows),
      int(x.width / 32),
      float(epsilon),
    ],
  });
}

/** Splits a tensor into two matrices of f16 or bf16 with row scales: see `split-halves.hip`. */
export function emitSplitHalves({ x, y }: SplitHalvesIntent, to: Lowering): void {
  to.launch({
    file: 'split-halves.hip',
    kernel: 'split_halves',
    defines: { BFLOATS: y.type === 'bf16' ? 1 : 0 },
    grid: [to.capacity(x)],
    block: 256,
    args: [to.count(x), x, y.high, y.low, y.scales, int(x.width)],
  });
}
