import { fail, invariant } from '../base/errors.ts';
import type { PackedWeight } from './program.ts';
import type { PinnedRows, WeightRows } from './stream.ts';

/** Bytes of rows of a weight in the format they come in. */
export function rowsBytes(weight: PackedWeight, { part, rowCount, format: own }: WeightRows): number {
  const of = weight.parts[part];
  invariant(of, 'the weight has the part');
  const format = own ?? of.format;
  return rowCount * (of.columns / format.blockElements) * format.blockBytes;
}

/** Throws `BINDING` unless the rows are rows of the weight and lie within the pinned buffer. */
export function checkRows(graph: string, weight: PackedWeight, rows: WeightRows, from: PinnedRows): void {
  const { part } = rows;
  const of = weight.parts[part];
  if (!of) {
    fail('BINDING', {
      graph,
      value: 'pack',
      found: `part ${part}`,
      expected: `a part below ${weight.parts.length}`,
    });
  }
  const use = { graph, value: `pack of ${of.name}` };
  const end = rows.firstRow + rows.rowCount;
  if (!Number.isSafeInteger(end) || rows.firstRow < 0 || rows.rowCount < 0 || end > of.rows) {
    fail('BINDING', { ...use, found: `rows ${rows.firstRow} to ${end}`, expected: `rows within ${of.rows}` });
  }
  const { pinned, offset } = from;
  const bytes = rowsBytes(weight, rows);
  if (offset < 0 || offset + bytes > pinned.byteLength) {
    fail('BINDING', {
      ...use,
      found: `bytes ${offset} to ${offset + bytes}`,
      expected: `bytes within the pinned ${pinned.byteLength}`,
    });
  }
}
