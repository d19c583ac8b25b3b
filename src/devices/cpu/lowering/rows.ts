import { ELEMENT_BYTES, type GatherRowsOp, type SliceOp, type TokenAppendOp } from '../../../ops/index.ts';
import type { Lowering } from './lowering.ts';

export function lowerGatherRows(op: GatherRowsOp, to: Lowering): void {
  const [x, index, out] = [to.tensor(op.x), to.tensor(op.index), to.tensor(op.out)];
  to.emit({
    table: {
      kind: 'gather',
      at: { x: x.id, index: index.id, out: out.id },
      columns: (op.out.width * ELEMENT_BYTES[op.out.type]) / 4,
      sourceRows: to.graph.shape.rows,
    },
    axis: op.out.axis,
    locality: 'row',
    local: [index],
    reads: [x],
    writes: [out],
  });
}

export function lowerSlice({ x: whole, first, out: part }: SliceOp, to: Lowering): void {
  const [x, out] = [to.tensor(whole), to.tensor(part)];
  to.emit({
    table: {
      kind: 'slice',
      at: { x: x.id, out: out.id },
      columns: part.width,
      first,
      sourceColumns: whole.width,
    },
    axis: part.axis,
    locality: 'row',
    local: [x],
    writes: [out],
  });
}

export function lowerTokenAppend(op: TokenAppendOp, to: Lowering): void {
  const { ids, positions, slots } = op.batch;
  const [history, tokens, out] = [to.state(op.history), to.state(op.tokens), to.tensor(op.out)];
  const local = [to.tensor(ids), to.tensor(positions), to.tensor(slots)] as const;
  to.emit({
    table: {
      kind: 'tokenAppend',
      at: {
        ids: local[0].id,
        positions: local[1].id,
        slots: local[2].id,
        tokens: tokens.id,
        history: history.id,
        out: out.id,
      },
      columns: 1,
      historyRows: op.history.rows,
      historyWidth: op.history.width,
      tokenCount: op.tokens.rows,
    },
    axis: 'rows',
    locality: 'row',
    local,
    reads: [tokens],
    writes: [out],
    scatters: [history],
  });
}
