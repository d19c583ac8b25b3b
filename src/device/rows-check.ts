import { fail, invariant } from '../base/errors.ts';
import type { TensorFormat } from '../formats/tensor-format.ts';
import type { PackedWeight } from './program.ts';
import { cutSpan } from './row-cut.ts';
import type { PinnedRows, WeightRows } from './stream.ts';

/** Bytes of rows of a weight in the format in which they are handed over. */
export function rowsBytes(weight: PackedWeight, { part, rowCount, format: own }: WeightRows): number {
  const of = weight.parts[part];
  invariant(of, 'the weight has the part');
  const format = own ?? of.format;
  return rowCount * (of.columns / format.blockElements) * format.blockBytes;
}

/** The weight whose rows a stream should pack, and what the device supports. */
export interface PackTarget {
  /** The stream's name in errors. */
  readonly graph: string;
  readonly weight: PackedWeight;
  /**
   * Whether rows of a part may be handed over in another format. If absent, the device does not decode while packing.
   */
  readonly decodes?: (part: number, format: TensorFormat) => boolean;
}

/**
 * Throws `BINDING` unless the rows exist in the weight, have its format or one that the device decodes, and lie within
 * the pinned buffer.
 */
export function checkRows({ graph, weight, decodes }: PackTarget, rows: WeightRows, from: PinnedRows): void {
  const { part, format } = rows;
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
  if (format && format !== of.format && !decodes?.(part, format)) {
    const expected = `rows in ${of.format.name}: the device does not decode others while it packs`;
    fail('BINDING', { ...use, found: `rows in ${format.name}`, expected });
  }
  const { pinned, offset, cut } = from;
  const bytes = cut ? cutSpan(cut) : rowsBytes(weight, rows);
  if (offset < 0 || offset + bytes > pinned.byteLength) {
    fail('BINDING', {
      ...use,
      found: `bytes ${offset} to ${offset + bytes}`,
      expected: `bytes within the pinned ${pinned.byteLength}`,
    });
  }
}
