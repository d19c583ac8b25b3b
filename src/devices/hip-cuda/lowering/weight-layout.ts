import { alignUp } from '../../../base/bytes.ts';
import { invariant } from '../../../base/errors.ts';
import { type Address, BUFFER_ALIGNMENT } from '../../../device/index.ts';
import { F32, type TensorFormat } from '../../../formats/index.ts';
import type { Weight } from '../../../ops/index.ts';
import { weightRowBytes } from '../../../ops/index.ts';
import type { HipCudaWeight } from '../launching/kernel-set.ts';
import {
  i32,
  i64,
  type KernelArgument,
  type KernelModule,
  type Launch,
  pointer,
} from '../launching/launch.ts';
import { formatFile } from '../texts/format-text.ts';
import { packedBytes, packedFile } from './packed-formats.ts';
import { F16_CHUNK } from './staging.ts';

/** A layout of weights on the device. */
export interface WeightLayout {
  /** Its name in `PackedWeight.layout`. */
  readonly name: string;
  /** The kernels that packing needs. */
  modules(parts: readonly Weight[]): readonly KernelModule[];
  of(parts: readonly Weight[]): HipCudaWeight;
}

function packLaunch(
  module: KernelModule,
  kernel: string,
  threads: readonly [number, number],
  args: readonly KernelArgument[],
): Launch {
  const [count, block] = threads;
  const grid = [Math.ceil(count / block), 1, 1] as const;
  return {
    kind: 'kernel',
    module,
    kernel,
    grid,
    block: [block, 1, 1],
    sharedBytes: 0,
    args,
    programmatic: false,
  };
}

/** The header of a format's file decoder. */
export function fileFormat({ format }: { readonly format: TensorFormat }): string {
  return `"${formatFile('formats', format)}"`;
}

/** The kernel that decodes rows of a format on the device. */
export function decodeModule(format: TensorFormat): KernelModule {
  return { file: 'pack-floats.hip', defines: { FILE_FORMAT: fileFormat({ format }) } };
}

/** True if rows of `format` can be decoded to `become` on the device. */
export function canDecode(format: TensorFormat, become: TensorFormat): boolean {
  return format !== become && (become.name === 'F32' || become.name === 'F16');
}

/** The launch that decodes `elements` of a format to address `to`. */
function decodeLaunch(
  format: TensorFormat,
  become: TensorFormat,
  { elements, to }: { elements: number; to: Address },
): (source: Address) => readonly Launch[] {
  const steps = elements / (format.blockElements === 1 ? 1 : 8);
  const kernel = become.name === 'F16' ? 'pack_f16' : 'pack_floats';
  const module = decodeModule(format);
  return (source) => [packLaunch(module, kernel, [steps, 256], [pointer(source), pointer(to), i64(steps)])];
}

function single(parts: readonly Weight[]): Weight {
  const [weight] = parts;
  invariant(weight && parts.length === 1, 'the layout takes one weight');
  return weight;
}

/** A single weight, with its rows as in the file, or decoded to its format. */
export const FILE_LAYOUT: WeightLayout = {
  name: 'file',
  modules: () => [],
  of: (parts) => {
    const weight = single(parts);
    const rowBytes = weightRowBytes(weight);
    return {
      parts,
      byteLength: weight.rows * rowBytes,
      layout: 'file',
      rowAlignment: 1,
      waits: (format) => format !== weight.format,
      decodes: (_, format) => (canDecode(format, weight.format) ? decodeModule(format) : undefined),
      pack: ({ firstRow, rowCount, format = weight.format }, target) => {
        const to = target + firstRow * rowBytes;
        if (format === weight.format) return to;
        return decodeLaunch(format, weight.format, { elements: rowCount * weight.columns, to });
      },
    };
  },
};

/** Vectors decoded to f32, one after another. */
export const FLOAT_LAYOUT: WeightLayout = {
  name: 'f32',
  modules: ([first]) => (first && first.format !== F32 ? [decodeModule(first.format)] : []),
  of: (parts) => {
    const [first] = parts;
    invariant(
      first && parts.every(({ format }) => format === first.format),
      'joined vectors have one format',
    );
    const sizes = parts.map(({ rows, columns }) => rows * columns);
    const starts = sizes.map((_, i) => sizes.slice(0, i).reduce((sum, size) => sum + size, 0));
    return {
      parts,
      byteLength: 4 * sizes.reduce((sum, size) => sum + size, 0),
      layout: 'f32',
      rowAlignment: 1,
      waits: () => first.format !== F32,
      pack: ({ part, firstRow, rowCount }, target) => {
        const columns = parts[part]?.columns ?? 0;
        const to = target + 4 * ((starts[part] ?? 0) + firstRow * columns);
        if (first.format === F32) return to;
        return decodeLaunch(first.format, F32, { elements: rowCount * columns, to });
      },
    };
  },
};

/** Weights of one format and width on top of one another: the first of them, all their rows, and the first row of each. */
function stackOf(parts: readonly Weight[]) {
  const [first] = parts;
  invariant(first, 'a packed weight has a part');
  const starts = parts.map((_, i) => parts.slice(0, i).reduce((sum, part) => sum + part.rows, 0));
  return { first, rows: parts.reduce((sum, part) => sum + part.rows, 0), starts };
}

/** Stacked weights of one quantized format and width, as planes of quants and scales. */
export const GROUP_LAYOUT: WeightLayout = {
  name: 'groups',
  modules: (parts) => [groupModule(parts)],
  of: (parts) => {
    const { first, rows, starts } = stackOf(parts);
    const groups = first.columns / 32;
    const module = groupModule(parts);
    return {
      parts,
      byteLength: packedBytes(first.format, rows, first.columns),
      layout: `groups ${first.format.name}`,
      rowAlignment: 1,
      waits: () => true,
      pack: ({ part, firstRow, rowCount }, target) => {
        const own = [parts[part]?.rows ?? 0, starts[part] ?? 0, 0];
        return packGroups(module, [rows, groups, firstRow, rowCount, ...own], target);
      },
    };
  },
};

/** The kernel that makes f16 of rows of packed weights. */
export function dequantizeModule(parts: readonly Weight[]): KernelModule {
  return { file: 'decode-f16.hip', defines: { PACKED_FORMAT: packedFile(stackOf(parts).first.format) } };
}

/** Threads of a block of `decode_f16`, each of which makes an octet. */
export const DEQUANTIZE_THREADS = 256;
const OCTET = 8;

/** Octets of so many rows in f16, which end with whole chunks. */
export function dequantizedOctets(rows: number, columns: number): number {
  return (rows * alignUp(columns, F16_CHUNK)) / OCTET;
}

/** `GROUP_LAYOUT` with a copy in f16 as its last bytes, made of each row as soon as it is packed. */
export const DEQUANTIZED_LAYOUT: WeightLayout = {
  name: 'dequantized',
  modules: (parts) => [...GROUP_LAYOUT.modules(parts), dequantizeModule(parts)],
  of: (parts) => {
    const packed = GROUP_LAYOUT.of(parts);
    const { first, rows, starts } = stackOf(parts);
    const { columns, format } = first;
    const copyAt = alignUp(packed.byteLength, BUFFER_ALIGNMENT);
    const dequantizedBytes = 2 * OCTET * dequantizedOctets(rows, columns);
    const module = dequantizeModule(parts);
    return {
      ...packed,
      byteLength: copyAt + dequantizedBytes,
      layout: `dequantized ${format.name}`,
      dequantizedBytes,
      pack: (handed, target) => {
        const { part, firstRow, rowCount } = handed;
        const packs = packed.pack(handed, target);
        invariant(typeof packs === 'function', 'rows of blocks are packed by a kernel');
        const sizes = [rows, columns / 32, (starts[part] ?? 0) + firstRow, rowCount].map(i32);
        const args = [pointer(target), ...sizes, pointer(target + copyAt)];
        const threads = [dequantizedOctets(rowCount, columns), DEQUANTIZE_THREADS] as const;
        const dequantize = packLaunch(module, 'decode_f16', threads, args);
        return (source) => [...packs(source), dequantize];
      },
    };
  },
};

/** Bytes of an expert's matrix, which has so many rows of each part, in `expertLayout`. */
export function expertBytes(parts: readonly Weight[], outputs: number): number {
  const [first] = parts;
  invariant(first, 'a packed weight has a part');
  return alignUp(packedBytes(first.format, parts.length * outputs, first.columns), BUFFER_ALIGNMENT);
}

/**
 * The same, but each expert, which has `outputs` rows of each part, is a matrix by itself: a copy of it is one range. Kernels with
 * HOT read it.
 */
export function expertLayout(outputs: number): WeightLayout {
  return {
    name: 'experts',
    modules: (parts) => [groupModule(parts)],
    of: (parts) => {
      const [first] = parts;
      invariant(first, 'a packed weight has a part');
      const module = groupModule(parts);
      const each = expertBytes(parts, outputs);
      const rows = parts.length * outputs;
      return {
        parts,
        byteLength: (first.rows / outputs) * each,
        layout: `experts ${first.format.name}`,
        rowAlignment: 1,
        waits: () => true,
        pack: ({ part, firstRow, rowCount }, target) => {
          const own = [outputs, part * outputs, each / BUFFER_ALIGNMENT];
          return packGroups(module, [rows, first.columns / 32, firstRow, rowCount, ...own], target);
        },
      };
    },
  };
}

/** The launch of `pack_groups` with these counts, the second of which is the groups of a row, and the fourth the rows. */
function packGroups(
  module: KernelModule,
  counts: readonly number[],
  target: Address,
): (source: Address) => readonly Launch[] {
  const [, groups = 0, , rowCount = 0] = counts;
  const threads = [rowCount * groups, 128] as const;
  const args = counts.map(i32);
  return (source) => [
    packLaunch(module, 'pack_groups', threads, [pointer(source), pointer(target), ...args]),
  ];
}

function groupModule(parts: readonly Weight[]): KernelModule {
  return { file: 'pack-groups.hip', defines: { PACKED_FORMAT: packedFile(stackOf(parts).first.format) } };
}
