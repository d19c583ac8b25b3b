import type { ConcatOp, EmbedOp, GatherRowsOp, SliceOp, TokenAppendOp } from '../../../ops/index.ts';
import { int } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { FILE_LAYOUT, fileFormat } from './weight-layout.ts';

/** Threads of a block, each of which has one value of a slice or of joined rows. */
const BLOCK = 256;

export function lowerEmbed({ ids, table, out }: EmbedOp, to: Lowering): void {
  to.launch({
    file: 'embed.hip',
    kernel: 'embed_rows',
    defines: { FILE_FORMAT: fileFormat(table) },
    grid: [to.capacity(out)],
    block: 128,
    args: [to.count(out), ids, to.weight([table], FILE_LAYOUT), out, int(table.rows), int(table.columns)],
  });
}

export function lowerGatherRows({ x, index, out }: GatherRowsOp, to: Lowering): void {
  to.launch({
    file: 'rows.hip',
    kernel: 'gather_rows',
    grid: [to.capacity(out)],
    block: 256,
    args: [to.count(out), index, x, out, int(out.width)],
  });
}

export function lowerSlice({ x, offset, segmentWidth, stride, out }: SliceOp, to: Lowering): void {
  const columns = [int(offset), int(out.width), int(segmentWidth), int(stride)];
  to.launch({
    file: 'rows.hip',
    kernel: 'slice_rows',
    grid: [to.capacity(out), Math.ceil(out.width / BLOCK)],
    block: BLOCK,
    args: [to.count(out), x, out, int(x.width), ...columns],
  });
}

export function lowerConcat({ a, b, aPart, bPart, out }: ConcatOp, to: Lowering): void {
  to.launch({
    file: 'rows.hip',
    kernel: 'concat_rows',
    grid: [to.capacity(out), Math.ceil(out.width / BLOCK)],
    block: BLOCK,
    args: [to.count(out), a, b, out, int(a.width), int(b.width), int(aPart), int(bPart)],
  });
}

export function lowerTokenAppend({ history, tokens, batch, out }: TokenAppendOp, to: Lowering): void {
  const { ids, slots, positions } = batch;
  to.launch({
    file: 'rows.hip',
    kernel: 'token_append',
    grid: [Math.ceil(to.capacity(ids) / 256)],
    block: 256,
    args: [to.count(ids), ids, slots, positions, tokens, int(tokens.rows), history, int(history.width), out],
  });
}
