import { alignUp } from '../../../base/bytes.ts';
import { invariant } from '../../../base/errors.ts';
import { BUFFER_ALIGNMENT } from '../../../device/index.ts';
import { type Weight, weightRowBytes } from '../../../ops/index.ts';
import type { GpuTarget } from '../gpu-target.ts';
import { GRID } from '../kernels/library/grid.ts';
import { HALVES } from '../kernels/library/halves.ts';
import { PACK_GROUPS } from '../kernels/pack-groups.ts';
import { packQuantsText } from '../kernels/quants.ts';
import { packScalesText } from '../kernels/scales.ts';
import type { KernelModule } from '../launching/kernel-module.ts';
import { blockTexts } from './format-text.ts';
import {
  groupConstants,
  type PackedFormat,
  packedFormat,
  type PlanePlaces,
  planePlaces,
  sharesScales,
  tableWords,
  unitGroups,
} from './packed-formats.ts';
import type { HostRows, PackMethod, WeightChunk } from './webgpu-weight.ts';
import { chunksOf, type WeightLayout } from './weight-layout.ts';

const THREADS = 64;

/** The format of a weight that is stored in groups. */
export function groupFormat(weight: Weight | undefined): PackedFormat {
  const format = weight && packedFormat(weight.format);
  invariant(format, 'the weight is of a packed format');
  return format;
}

/** True for weights that can be stacked: a unit of groups must not extend from one into the next. */
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

/** The offsets of the planes of the weights' chunks; all chunks have the same layout. */
export function groupPlaces(parts: readonly Weight[], chunk: WeightChunk): PlanePlaces {
  const [first] = parts;
  invariant(first, 'a packed weight has a part');
  return planePlaces(groupFormat(first), (chunk.rowCount * first.columns) / 32).places;
}

function packModule(format: PackedFormat): KernelModule {
  return {
    name: 'pack_groups',
    texts: [
      GRID,
      HALVES,
      PACK_GROUPS,
      packQuantsText(format.groups.quants),
      packScalesText(sharesScales(format)),
      blockTexts(format.layout, format.groups),
    ],
    constants: {
      THREADS,
      UNIT_GROUPS: unitGroups(format),
      BLOCK_GROUPS: format.groups.blockGroups,
      BLOCK_BYTES: format.groups.blockBytes,
      NATIVE_HALVES: false,
      ...groupConstants(format),
    },
    parameters: [
      { name: 'job', type: 'Job', access: 'uniform' },
      { name: 'source', type: 'array<u32>', access: 'read' },
      { name: 'weight', type: 'array<u32>', access: 'write' },
    ],
  };
}

/** Stacked weights of one quantized format and width, as planes of quants and scales. */
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
    const places = groupPlaces(parts, chunks[0] as WeightChunk);
    const module = packModule(format);
    const { HIGH_AT, SIGNS_AT, SCALES_AT, SUPER_AT } = places;
    return {
      parts,
      byteLength: chunks.reduce((sum, { byteLength }) => sum + byteLength, 0),
      layout: `groups ${first.format.name}`,
      rowAlignment: wholeUnits(groups, unitGroups(format)),
      waits: () => true,
      chunks,
      pack: ({ part, firstRow, rowCount }): PackMethod[] => {
        const start = (starts[part] as number) + firstRow;
        const rowBytes = weightRowBytes(first);
        return chunks.flatMap((chunk): PackMethod[] => {
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
              job: [0, (from - chunk.firstRow) * groups, own, HIGH_AT, SIGNS_AT, SCALES_AT, SUPER_AT],
              workgroups: Math.ceil(own / unitGroups(format) / THREADS),
            },
            ...(from === chunk.firstRow ? tableOf(format, chunk.offset + 4 * places.TABLE_AT) : []),
          ];
        });
      },
    };
  },
};

/** The smallest number of rows with so many groups each that fills whole units. */
function wholeUnits(groups: number, unit: number): number {
  let rows = 1;
  while ((rows * groups) % unit !== 0) rows *= 2;
  return rows;
}

/** The codebook of a chunk, if its format has one: it is written with the chunk's first rows. */
function tableOf(format: PackedFormat, target: number): HostRows[] {
  const { buffer, byteLength } = tableWords(format);
  if (byteLength === 0) return [];
  const fill = (_: Uint8Array, into: Uint8Array) => into.set(new Uint8Array(buffer));
  return [{ kind: 'host', target, byteLength, unchanged: false, fill }];
}
