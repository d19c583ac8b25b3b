import { alignUp } from '../../../base/bytes.ts';
import { invariant } from '../../../base/errors.ts';
import { BUFFER_ALIGNMENT } from '../../../device/index.ts';
import { type Weight, weightRowBytes } from '../../../ops/index.ts';
import type { GpuTarget } from '../gpu-target.ts';
import { GRID } from '../kernels/library/grid.ts';
import { HALVES } from '../kernels/library/halves.ts';
import { PACK_GROUPS } from '../kernels/pack-groups.ts';
import type { PackedFormat } from '../kernels/packed-format.ts';
import { storeQuantsText } from '../kernels/quants.ts';
import type { KernelModule } from '../launching/kernel-module.ts';
import { packedFormat, type PlanePlaces, planePlaces } from './packed-formats.ts';
import type { KernelRows, WeightChunk } from './webgpu-weight.ts';
import { chunksOf, type WeightLayout } from './weight-layout.ts';

const THREADS = 64;

/** Groups whose scales share no word with those of others. */
function unitGroups({ blockGroups }: PackedFormat): number {
  return Math.max(2, blockGroups);
}

/** The format of a weight that is laid out in groups. */
export function groupFormat(weight: Weight | undefined): PackedFormat {
  const format = weight && packedFormat(weight.format);
  invariant(format, 'the weight is of a packed format');
  return format;
}

/** True for weights that can be one below the other: a unit of groups must not reach from one into the next. */
export function canJoin(parts: readonly Weight[]): boolean {
  const [first] = parts;
  const format = first && packedFormat(first.format);
  if (!first || !format) return false;
  const unit = unitGroups(format);
  return parts.every(
    ({ rows, columns, format: own }) =>
      own === first.format && columns === first.columns && ((rows * columns) / 32) % unit === 0,
  );
}

/** Where the planes of the weights' chunks start; all chunks are laid out alike. */
export function groupPlaces(parts: readonly Weight[], chunk: WeightChunk): PlanePlaces {
  const [first] = parts;
  invariant(first, 'a packed weight has a part');
  return planePlaces(groupFormat(first), (chunk.rowCount * first.columns) / 32).places;
}

function packModule(format: PackedFormat, places: PlanePlaces): KernelModule {
  return {
    name: 'pack_groups',
    texts: [GRID, HALVES, PACK_GROUPS, storeQuantsText(format.bits), format.pack],
    constants: {
      THREADS,
      UNIT_GROUPS: unitGroups(format),
      BLOCK_GROUPS: format.blockGroups,
      BLOCK_BYTES: format.blockBytes,
      ...places,
    },
    parameters: [
      { name: 'job', type: 'vec4<u32>', access: 'uniform' },
      { name: 'source', type: 'array<u32>', access: 'read' },
      { name: 'weight', type: 'array<u32>', access: 'write' },
    ],
  };
}

/** Weights of one quantized format and width, one below the other, as planes of quants and scales. */
export const GROUP_LAYOUT: WeightLayout = {
  name: 'groups',
  of: (parts, { bindingBytes }: GpuTarget) => {
    const [first] = parts;
    invariant(first, 'a packed weight has a part');
    const format = groupFormat(first);
    const groups = first.columns / 32;
    const rows = parts.reduce((sum, part) => sum + part.rows, 0);
    const starts = parts.map((_, i) => parts.slice(0, i).reduce((sum, part) => sum + part.rows, 0));
    const chunks = chunksOf(rows, bindingBytes, (count) =>
      alignUp(planePlaces(format, count * groups).byteLength, BUFFER_ALIGNMENT),
    );
    const module = packModule(format, groupPlaces(parts, chunks[0] as WeightChunk));
    return {
      parts,
      byteLength: chunks.reduce((sum, { byteLength }) => sum + byteLength, 0),
      layout: `groups ${first.format.name}`,
      rowAlignment: groups % unitGroups(format) === 0 ? 1 : 2,
      waits: () => true,
      chunks,
      pack: (part, firstRow, rowCount): KernelRows[] => {
        const start = (starts[part] as number) + firstRow;
        const rowBytes = weightRowBytes(first);
        return chunks.flatMap((chunk): KernelRows[] => {
          const from = Math.max(start, chunk.firstRow);
          const count = Math.min(start + rowCount, chunk.firstRow + chunk.rowCount) - from;
          if (count <= 0) return [];
          const own = count * groups;
          return [
            {
              kind: 'kernel',
              module,
              target: chunk.offset,
              byteLength: chunk.byteLength,
              from: (from - start) * rowBytes,
              fromBytes: count * rowBytes,
              job: [0, (from - chunk.firstRow) * groups, own, 0],
              workgroups: Math.ceil(own / unitGroups(format) / THREADS),
            },
          ];
        });
      },
    };
  },
};
