import { fail } from '../base/errors.ts';
import { weightRowBytes } from '../ops/value.ts';
import type { PackedWeight } from './program.ts';
import type { FileRows } from './stream.ts';

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
  const bytes = rows.rowCount * weightRowBytes(of);
  if (rows.offset < 0 || rows.offset + bytes > rows.pinned.byteLength) {
    fail('BINDING', {
      ...use,
      found: `bytes ${rows.offset} to ${rows.offset + bytes}`,
      expected: `bytes within the pinned ${rows.pinned.byteLength}`,
    });
  }
}
