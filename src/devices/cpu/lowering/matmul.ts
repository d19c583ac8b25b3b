import { fail } from '../../../base/errors.ts';
import type { MatmulExpertsOp, MatmulOp, Tensor, Weight } from '../../../ops/index.ts';
import type { Lowering } from './lowering.ts';
import type { Operand } from './operands.ts';
import { weightLayoutOf } from './weight-layout-of.ts';
import { KERNEL_SCRATCH_BYTES, MATMUL_BLOCK_ROWS } from '../protocol/reserved.ts';
import { matmulScratchBytes, QUAD_ROWS } from '../weight-layouts.ts';

/** Activations that are quantized together. */
const QUANTIZED_GROUP = 32;

/**
 * Groups that share a scale: for formats with blocks of 256 all eight, as ggml quantizes what it multiplies them with. A
 * scale a group would be more exact, but whole models would then part from llama.cpp's by more than rounding.
 */
function spanOf({ format }: Weight): number {
  return format.blockElements === 256 ? 8 : 1;
}

/** What a product reads its activations from. Throws `OP_UNSUPPORTED` for a weight that is too wide for the workers' scratch. */
export function productInput({ kind, x, weight }: MatmulOp | MatmulExpertsOp, to: Lowering): Operand {
  if (matmulScratchBytes(MATMUL_BLOCK_ROWS, weight.columns) > KERNEL_SCRATCH_BYTES) {
    const why = `${weight.name} is ${weight.columns} columns wide`;
    fail('OP_UNSUPPORTED', { device: 'cpu', op: kind, why });
  }
  const { layout } = weightLayoutOf(weight.format);
  return layout.activations === 'records' ? quantized(x, spanOf(weight), to) : to.tensor(x);
}

export function lowerMatmul(op: MatmulOp, to: Lowering): void {
  const { weight, out: result, bias } = op;
  const { layout } = weightLayoutOf(weight.format);
  const x = productInput(op, to);
  const packed = to.weight(weight, 'matrix');
  const out = to.tensor(result);
  to.emit({
    table: {
      kind: 'matmul',
      at: { x: x.id, weight: packed.id, out: out.id },
      matVec: layout.matVec,
      matMat: layout.matMat,
      activations: layout.activations,
      columns: weight.rows,
      inner: weight.columns,
    },
    axis: result.axis,
    locality: 'wide',
    columnUnit: QUAD_ROWS,
    columnBytes: packed.byteLength / weight.rows,
    rowsTogether: true,
    reads: [x, packed],
    writes: [out],
  });
  if (!bias) return;
  const vector = to.weight(bias, 'vector');
  to.emit({
    table: {
      kind: 'add',
      at: { a: out.id, b: vector.id, out: out.id },
      columns: weight.rows,
      b: 'row',
    },
    axis: result.axis,
    locality: 'element',
    local: [out],
    reads: [vector],
    writes: [out],
  });
}

/** The activations in 8 bits; matrices with the same input share them. */
function quantized(x: Tensor, span: number, to: Lowering): Operand {
  return to.quantized(x, span, () => {
    const source = to.tensor(x);
    const out = to.operands.quantized(x);
    to.emit({
      table: { kind: 'quantize', at: { x: source.id, out: out.id }, columns: x.width, span },
      axis: x.axis,
      locality: 'element',
      columnUnit: QUANTIZED_GROUP * span,
      local: [source],
      writes: [out],
    });
    return out;
  });
}
