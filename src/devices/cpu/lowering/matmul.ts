import type { MatmulOp, Tensor } from '../../../ops/index.ts';
import type { Lowering } from '../program/lowering.ts';
import type { Slot } from '../program/slots.ts';
import { weightLayoutOf } from '../program/weight-layout-of.ts';
import { QUAD_ROWS } from '../weight-layouts.ts';

/** Activations that are quantized together. */
const QUANTIZED_GROUP = 32;

export function lowerMatmul(op: MatmulOp, to: Lowering): void {
  const { weight, out: result, bias } = op;
  const { layout } = weightLayoutOf(weight.format);
  const x = layout.activations === 'records' ? quantized(op.x, to) : to.tensor(op.x);
  const packed = to.weight(weight, 'matrix');
  const out = to.tensor(result);
  to.emit({
    table: {
      kind: 'matmul',
      at: { x: x.id, weight: packed.id, out: out.id },
      matVec: layout.matVec,
      matMat: layout.matMat,
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
function quantized(x: Tensor, to: Lowering): Slot {
  return to.quantized(x, () => {
    const source = to.tensor(x);
    const out = to.slots.quantized(x);
    to.emit({
      table: { kind: 'quantize', at: { x: source.id, out: out.id }, columns: x.width },
      axis: x.axis,
      locality: 'element',
      columnUnit: QUANTIZED_GROUP,
      local: [source],
      writes: [out],
    });
    return out;
  });
}
