import { fail } from '../../../base/errors.ts';
import type { PackedWeight, WeightRows } from '../../../device/index.ts';
import { type Weight, weightRowBytes } from '../../../ops/index.ts';
import { type BankAddress, PACK, type PackWork } from '../protocol/command.ts';
import { FILE_SCRATCH_BYTES, FLOAT_SCRATCH_BYTES, WEIGHT_SCRATCH_BYTES } from '../protocol/reserved.ts';
import type { LayoutTable } from '../weight-layouts.ts';
import { weightLayoutOf } from './weight-layout-of.ts';

/**
 * The use of a weight, which determines its layout: `lookup` keeps the file's blocks, because few rows are read;
 * `vector` is decoded to f32; `matrix` is laid out for the dot products of its format.
 */
export type WeightUse = keyof typeof PACK;

/** A weight in the layout that the kernels use. */
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
  static of(weight: Weight, use: WeightUse, layouts: LayoutTable): CpuPackedWeight {
    const { rows, columns, format } = weight;
    if (use === 'lookup') {
      return new CpuPackedWeight(weight, use, 'file', rows * weightRowBytes(weight), 1);
    }
    if (use === 'vector') return new CpuPackedWeight(weight, use, 'vector', rows * columns * 4, 1);
    const { layout, decodes } = weightLayoutOf(format, layouts);
    const quadBytes = layout.rowAlignment * weightRowBytes(weight);
    const floatBytes = decodes ? layout.rowAlignment * columns * 4 : 0;
    const packedQuad = layout.packedBytes(layout.rowAlignment, columns);
    const fits = quadBytes <= FILE_SCRATCH_BYTES && packedQuad <= WEIGHT_SCRATCH_BYTES;
    if (!fits || floatBytes > FLOAT_SCRATCH_BYTES) {
      fail('OP_UNSUPPORTED', {
        device: 'cpu',
        op: 'matmul',
        why: `${weight.name} is ${columns} columns wide`,
      });
    }
    const byteLength = layout.packedBytes(rows, columns);
    return new CpuPackedWeight(weight, use, layout.name, byteLength, layout.rowAlignment);
  }

  /**
   * The work of packing some rows of the weight. Throws `BINDING` if they start or end within a unit of the layout's
   * rows.
   */
  packWork({ firstRow, rowCount }: WeightRows, ends: { source: BankAddress; target: BankAddress }): PackWork {
    const { weight, use, rowAlignment } = this;
    const end = firstRow + rowCount;
    if (firstRow % rowAlignment !== 0 || (end !== weight.rows && rowCount % rowAlignment !== 0)) {
      const found = `rows ${firstRow} to ${end}`;
      fail('BINDING', { graph: 'pack', value: weight.name, found, expected: `multiples of ${rowAlignment}` });
    }
    const { columns, format } = weight;
    const common = { ...ends, use: PACK[use], ggmlType: format.ggmlType };
    if (use === 'matrix') return { ...common, columns, firstRow, rowCount };
    // Blocks are contiguous: they are packed as rows of one block each, so that long rows can be divided too.
    const blocks = columns / format.blockElements;
    return {
      ...common,
      columns: format.blockElements,
      firstRow: firstRow * blocks,
      rowCount: rowCount * blocks,
    };
  }
}
