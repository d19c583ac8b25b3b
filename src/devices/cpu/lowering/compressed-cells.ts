import type { CellPlacesOp, CompressCellsOp, JoinCellsOp, StreamSharesOp } from '../../../ops/index.ts';
import type { Lowering } from './lowering.ts';

export function lowerCellPlaces(op: CellPlacesOp, to: Lowering): void {
  const { own, cell, index, last, start, batch } = op;
  to.emit(op, { locality: 'row', local: [batch.positions], writes: [own, cell, index, last, start] });
}

export function lowerCompressCells(op: CompressCellsOp, to: Lowering): void {
  to.emit(op, { locality: 'wide', columnBytes: 16 * op.ratio });
}

export function lowerJoinCells(op: JoinCellsOp, to: Lowering): void {
  const { chosen, cells, places, limits } = op;
  to.emit(op, { locality: 'row', local: chosen ? [chosen] : [], writes: [cells, places, limits] });
}

export function lowerStreamShares(op: StreamSharesOp, to: Lowering): void {
  to.emit(op, { locality: 'row', local: [op.mixes] });
}
