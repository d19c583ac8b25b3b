import { fail } from '../../../base/errors.ts';
import type { MatmulExpertsOp, MatmulHeadsOp, MatmulOp, Tensor, Weight } from '../../../ops/index.ts';
import { lowerBinary } from './elementwise.ts';
import type { Lowering } from './lowering.ts';
import { weightLayoutOf } from './weight-layout-of.ts';
import { KERNEL_SCRATCH_BYTES, MATMUL_BLOCK_ROWS } from '../protocol/reserved.ts';
import { matmulScratchBytes, QUAD_ROWS } from '../weight-layouts.ts';

/** Activations that are quantized together. */
const QUANTIZED_GROUP = 32;

/**
 * Groups that share a scale: all eight for formats with blocks of 256, as ggml quantizes the activations that it
 * multiplies them with. A scale per group would be more accurate, but results of whole models would then differ from
 * llama.cpp's by more than rounding.
 */
function spanOf({ format }: Weight): number {
  return format.blockElements === 256 ? 8 : 1;
}

/**
 * The activations that a product reads. Throws `OP_UNSUPPORTED` for a weight that is too wide for the workers' scratch.
 */
export function productInput(
  { kind, x, weight }: MatmulOp | MatmulHeadsOp | MatmulExpertsOp,
  to: Lowering,
): Tensor {
  if (matmulScratchBytes(MATMUL_BLOCK_ROWS, weight.columns) > KERNEL_SCRATCH_BYTES) {
    const why = `${weight.name} is ${weight.columns} columns wide`;
    fail('OP_UNSUPPORTED', { device: 'cpu', op: kind, why });
  }
  const { layout } = weightLayoutOf(weight.format, to.layouts);
  return layout.activations === 'records' ? quantized(x, spanOf(weight), to) : x;
}

export function lowerMatmul(op: MatmulOp, to: Lowering): void {
  const { weight, out, bias } = op;
  to.emit(
    { ...op, bias: undefined, x: productInput(op, to) },
    {
      locality: 'wide',
      weights: 'matrix',
      columnUnit: QUAD_ROWS,
      columnBytes: to.packed(weight, 'matrix').byteLength / weight.rows,
      rowsTogether: true,
    },
  );
  if (bias) lowerBinary({ kind: 'add', a: out, b: bias, out }, to);
}

/** The activations in 8 bits; products with the same input share them. */
function quantized(x: Tensor, span: number, to: Lowering): Tensor {
  return to.quantized(x, span, () => {
    const out = to.operands.quantized(x);
    const columnUnit = QUANTIZED_GROUP * span;
    to.emit({ kind: 'quantize', x, span, out }, { locality: 'element', columnUnit, local: [x] });
    return out;
  });
}
