import type { RopeOp, RopeTableOp } from '../../../ops/index.ts';
import type { Lowering } from './lowering.ts';

export function lowerRopeTable(op: RopeTableOp, to: Lowering): void {
  const columns = op.out.width;
  const [positions, out] = [to.tensor(op.positions), to.tensor(op.out)];
  const factors = op.factors && to.weight(op.factors, 'vector');
  to.emit({
    table: {
      kind: 'ropeTable',
      at: { positions: positions.id, out: out.id, ...(factors && { factors: factors.id }) },
      columns,
      parameters: op.parameters,
    },
    axis: op.out.axis,
    locality: 'row',
    local: [positions],
    reads: factors ? [factors] : [],
    writes: [out],
  });
}

export function lowerRope(op: RopeOp, to: Lowering): void {
  const columns = op.out.width;
  const [x, table, out] = [to.tensor(op.x), to.tensor(op.table), to.tensor(op.out)];
  to.emit({
    table: {
      kind: 'rope',
      at: { x: x.id, table: table.id, out: out.id },
      columns,
      headSize: op.headSize,
      turned: op.table.width,
      pairs: op.pairs,
    },
    axis: op.out.axis,
    locality: 'element',
    columnUnit: op.headSize,
    local: [x],
    reads: [table],
    writes: [out],
  });
}
