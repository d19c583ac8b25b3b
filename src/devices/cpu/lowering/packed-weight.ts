import { fail } from '../../../base/errors.ts';
import type { FileRows, PackedWeight } from '../../../device/index.ts';
import { type Weight, weightRowBytes } from '../../../ops/index.ts';
import { type BankAddress, PACK, type PackWork } from '../protocol/command.ts';
import { FILE_SCRATCH_BYTES, FLOAT_SCRATCH_BYTES } from '../protocol/reserved.ts';
import { weightLayoutOf } from './weight-layout-of.ts';

/**
 * What a weight is for, which decides its layout: `lookup` keeps the file's blocks, because few rows are read; `vector` is
 * decoded to f32; `matrix` is laid out for the dot products of its format.
 */
export type WeightUse = keyof typeof PACK;

/** A weight with the layout that the kernels want. */
export class CpuPackedWeight implements PackedWeight {
  readonly parts: readonly Weight[];

  private constructor(
    readonly weight: Weight,
    readonly use: WeightUse,
    readonly layout: string,
    readonly byteLength: number,
    readonly rowAlignment: number,
  ) {
    this.parts = [weight];
  }

  /** Throws `OP_UNSUPPORTED` for a matrix whose rows are too long for the workers' scratch. */
  static of(weight: Weight, use: WeightUse): CpuPackedWeight {
    const { rows, columns, format } = weight;
    if (use === 'lookup') {
      return new CpuPackedWeight(weight, use, 'file', rows * weightRowBytes(weight), 1);
    }
    if (use === 'vector') return new CpuPackedWeight(weight, use, 'vector', rows * columns * 4, 1);
    const { layout, decodes } = weightLayoutOf(format);
    const quadBytes = layout.rowAlignment * weightRowBytes(weight);
    const floatBytes = decodes ? layout.rowAlignment * columns * 4 : 0;
    if (quadBytes > FILE_SCRATCH_BYTES || floatBytes > FLOAT_SCRATCH_BYTES) {
      fail('OP_UNSUPPORTED', {
        device: 'cpu',
        op: 'matmul',
        why: `${weight.name} is ${columns} columns wide`,
      });
    }
    const byteLength = layout.packedBytes(rows, columns);
    return new CpuPackedWeight(weight, use, layout.name, byteLength, layout.rowAlignment);
  }

  /** The work of packing some rows. Throws `BINDING` when they are not rows of the part or not where they should be. */
  packWork(part: number, rows: FileRows, ends: { source: BankAddress; target: BankAddress }): PackWork {
    const { weight, use, rowAlignment } = this;
    const end = rows.firstRow + rows.rowCount;
    const bytes = rows.rowCount * weightRowBytes(weight);
    const whole = Number.isSafeInteger(rows.firstRow) && Number.isSafeInteger(rows.rowCount);
    this.#require(part === 0, `part ${part}`, 'part 0');
    this.#require(
      whole && rows.firstRow >= 0 && rows.rowCount >= 0 && end <= weight.rows,
      `rows ${rows.firstRow} to ${end}`,
      `rows within ${weight.rows}`,
    );
    const aligned =
      rows.firstRow % rowAlignment === 0 && (end === weight.rows || rows.rowCount % rowAlignment === 0);
    this.#require(aligned, `rows ${rows.firstRow} to ${end}`, `multiples of ${rowAlignment}`);
    this.#require(
      rows.offset >= 0 && rows.offset + bytes <= rows.pinned.byteLength,
      `bytes ${rows.offset} to ${rows.offset + bytes}`,
      `bytes within the pinned ${rows.pinned.byteLength}`,
    );
    const { columns, format } = weight;
    const common = { ...ends, use: PACK[use], ggmlType: format.ggmlType };
    const { firstRow, rowCount } = rows;
    if (use === 'matrix') return { ...common, columns, firstRow, rowCount };
    // Blocks lie one behind the other: they are packed as rows of one block each, so that long rows divide too.
    const blocks = columns / format.blockElements;
    return {
      ...common,
      columns: format.blockElements,
      firstRow: firstRow * blocks,
      rowCount: rowCount * blocks,
    };
  }

  #require(fits: boolean, found: string, expected: string): void {
    if (!fits) fail('BINDING', { graph: 'pack', value: this.weight.name, found, expected });
  }
}
