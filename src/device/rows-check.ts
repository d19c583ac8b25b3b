import { fail, invariant } from '../base/errors.ts';
import type { PackedWeight } from './program.ts';
import type { FileRows } from './stream.ts';

/** Bytes of rows of a part as they lie in pinned memory. */
export function fileRowsBytes(weight: PackedWeight, part: number, rows: FileRows): number {
  const of = weight.parts[part];
  invariant(of, 'the weight has the part');
  const format = rows.format ?? of.format;
  return rows.rowCount * (of.columns / format.blockElements) * format.blockBytes;
}

/** Throws `BINDING` unless the rows are rows of that part and lie within the pinned buffer. */
export function checkRows(graph: string, weight: PackedWeight, part: number, rows: FileRows): void {
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
  const bytes = fileRowsBytes(weight, part, rows);
  if (rows.offset < 0 || rows.offset + bytes > rows.pinned.byteLength) {
    fail('BINDING', {
      ...use,
      found: `bytes ${rows.offset} to ${rows.offset + bytes}`,
      expected: `bytes within the pinned ${rows.pinned.byteLength}`,
    });
  }
}
