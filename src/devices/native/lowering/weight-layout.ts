import { invariant } from '../../../base/errors.ts';
import type { Weight } from '../../../ops/index.ts';
import { weightRowBytes } from '../../../ops/index.ts';
import type { KernelModule } from '../launching/launch.ts';
import { type Arg, int, type LaunchTemplate, type NativeWeight } from './launch-template.ts';
import { packedBytes, packedFile } from './packed-formats.ts';

/** A way to lay weights out on the device. */
export interface WeightLayout {
  /** Names it in `PackedWeight.layout`. */
  readonly name: string;
  /** What packing wants compiled, where it wants a kernel. */
  module(parts: readonly Weight[]): KernelModule | undefined;
  of(parts: readonly Weight[]): NativeWeight;
}

const SOURCE: Arg = { kind: 'address', of: 'source', offset: 0 };
const TARGET: Arg = { kind: 'address', of: 'target', offset: 0 };

function packLaunch(
  module: KernelModule,
  kernel: string,
  threads: readonly [number, number],
  args: Arg[],
): LaunchTemplate {
  const [count, block] = threads;
  return {
    module,
    kernel,
    grid: [Math.ceil(count / block), 1, 1],
    block,
    sharedBytes: 0,
    args,
    programmatic: false,
  };
}

/** The header of a format's file decoder. */
export function fileFormat(weight: Weight): string {
  return `"formats/${weight.format.name.toLowerCase().replaceAll('_', '-')}.h"`;
}

function single(parts: readonly Weight[]): Weight {
  const [weight] = parts;
  invariant(weight && parts.length === 1, 'the layout takes one weight');
  return weight;
}

/** One weight, its rows as the file holds them. */
export const FILE_LAYOUT: WeightLayout = {
  name: 'file',
  module: () => undefined,
  of: (parts) => {
    const weight = single(parts);
    const rowBytes = weightRowBytes(weight);
    return {
      parts,
      byteLength: weight.rows * rowBytes,
      layout: 'file',
      rowAlignment: 1,
      pack: (_, firstRow) => firstRow * rowBytes,
    };
  },
};

/** Vectors decoded to f32, one after the other. */
export const FLOAT_LAYOUT: WeightLayout = {
  name: 'f32',
  module: floatModule,
  of: (parts) => {
    const [first] = parts;
    invariant(
      first && parts.every(({ format }) => format === first.format),
      'joined vectors have one format',
    );
    const module = floatModule(parts);
    const stepElements = first.format.blockElements === 1 ? 1 : 8;
    const sizes = parts.map(({ rows, columns }) => rows * columns);
    const starts = sizes.map((_, i) => sizes.slice(0, i).reduce((sum, size) => sum + size, 0));
    return {
      parts,
      byteLength: 4 * sizes.reduce((sum, size) => sum + size, 0),
      layout: 'f32',
      rowAlignment: 1,
      pack: (part, firstRow, rowCount) => {
        const columns = parts[part]?.columns ?? 0;
        const start = (starts[part] ?? 0) + firstRow * columns;
        if (!module) return 4 * start;
        const steps = (rowCount * columns) / stepElements;
        const args = [SOURCE, TARGET, int(start), int(steps)];
        return packLaunch(module, 'pack_floats', [steps, 256], args);
      },
    };
  },
};

/** Floats are as the layout wants them. */
function floatModule(parts: readonly Weight[]): KernelModule | undefined {
  const [first] = parts;
  invariant(first, 'a packed weight has a part');
  if (first.format.name === 'F32') return undefined;
  return { file: 'pack-floats.hip', defines: { FILE_FORMAT: fileFormat(first) } };
}

/** Weights of one quantized format and width, one below the other, as planes of quants and scales. */
export const GROUP_LAYOUT: WeightLayout = {
  name: 'groups',
  module: groupModule,
  of: (parts) => {
    const rows = parts.reduce((sum, part) => sum + part.rows, 0);
    const [first] = parts;
    invariant(first, 'a packed weight has a part');
    const groups = first.columns / 32;
    const module = groupModule(parts);
    const starts = parts.map((_, i) => parts.slice(0, i).reduce((sum, part) => sum + part.rows, 0));
    return {
      parts,
      byteLength: packedBytes(first.format, rows * groups),
      layout: `groups ${first.format.name}`,
      rowAlignment: 1,
      pack: (part, firstRow, rowCount) => {
        const start = (starts[part] ?? 0) + firstRow;
        const args = [SOURCE, TARGET, int(rows), int(groups), int(start), int(rowCount)];
        return packLaunch(module, 'pack_groups', [rowCount * groups, 128], args);
      },
    };
  },
};

function groupModule(parts: readonly Weight[]): KernelModule {
  const format = parts[0]?.format;
  invariant(format, 'a packed weight has a part');
  return { file: 'pack-groups.hip', defines: { PACKED_FORMAT: packedFile(format) } };
}
