import type {
  ConcatOp,
  EmbedOp,
  GatherRowsOp,
  SampleOp,
  SliceOp,
  TokenAppendOp,
} from '../../../ops/index.ts';
import type { Lowering } from './lowering.ts';

export function lowerEmbed(op: EmbedOp, to: Lowering): void {
  to.emit(op, { locality: 'row', weights: 'lookup', local: [op.ids] });
}

export function lowerGatherRows(op: GatherRowsOp, to: Lowering): void {
  to.emit(op, { locality: 'row', local: [op.index] });
}

export function lowerSlice(op: SliceOp, to: Lowering): void {
  to.emit(op, { locality: 'row', local: [op.x] });
}

export function lowerConcat(op: ConcatOp, to: Lowering): void {
  to.emit(op, { locality: 'row', local: [op.a, op.b] });
}

export function lowerTokenAppend(op: TokenAppendOp, to: Lowering): void {
  const { ids, positions, slots } = op.batch;
  to.emit(op, { locality: 'row', local: [ids, positions, slots], scatters: [op.history] });
}

export function lowerSample(op: SampleOp, to: Lowering): void {
  const { logits, parameters, batch, tokens, report } = op;
  const local = [logits, parameters, batch.outputRows];
  to.emit(op, { locality: 'row', columns: 1, local, writes: [tokens, report] });
}
