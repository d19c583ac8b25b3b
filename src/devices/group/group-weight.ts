import { alignUp } from '../../base/bytes.ts';
import { copyCut, type PackedWeight, type RowCut, type WeightRows } from '../../device/index.ts';
import type { TensorFormat } from '../../formats/index.ts';
import { lengthOf, type Range, type Weight } from '../../ops/index.ts';

/** What one rank takes of rows that are handed over. */
export interface RankRows {
  readonly rows: WeightRows;
  readonly byteLength: number;
  /** Where they lie in the rows as in the file. */
  readonly cut: RowCut;
  /** Copies the rank's columns of its rows out of the rows as in the file. */
  fill(source: Uint8Array, target: Uint8Array): void;
}

/** A weight on the ranks of a group, as the program of each rank needs its shard; ranks without one have no part in it. */
export class GroupWeight implements PackedWeight {
  /** The whole tensors, as the file has them. */
  readonly parts: readonly Weight[];
  readonly byteLength: number;
  readonly dequantizedBytes: number;
  readonly layout: string;
  readonly rowAlignment: number;
  readonly isCopied: boolean;

  constructor(readonly ranks: readonly (PackedWeight | undefined)[]) {
    const there = ranks.filter((rank) => rank !== undefined);
    const [first] = there;
    this.parts = (first?.parts ?? []).map(wholeOf);
    this.byteLength = Math.max(...there.map(({ byteLength }) => byteLength));
    this.dequantizedBytes = Math.max(...there.map(({ dequantizedBytes = 0 }) => dequantizedBytes));
    this.layout = ranks
      .map((rank) => rank && [rank.layout, ...rank.parts.map(shardName)].join(' '))
      .join(' | ');
    this.rowAlignment = alignmentOf(there, this.parts);
    this.isCopied = ranks.every((rank) => rank?.parts.every(({ shard }) => shard === undefined) ?? false);
  }

  waits(format: TensorFormat): boolean {
    return this.ranks.some((rank) => rank?.waits?.(format) ?? false);
  }

  /** What a rank takes of some of the file's rows; undefined if these are others' rows. */
  take(rank: number, handed: WeightRows): RankRows | undefined {
    const { part, firstRow, rowCount, format: own } = handed;
    const of = this.ranks[rank]?.parts[part];
    if (!of) return undefined;
    const format = own ?? of.format;
    const { rows, columns, whole } = piecesOf(of);
    const picked: Range[] = [];
    let before = 0;
    let first: number | undefined;
    for (const { start, end } of rows) {
      const [from, to] = [Math.max(start, firstRow), Math.min(end, firstRow + rowCount)];
      if (from < to) {
        first ??= before + from - start;
        picked.push({ start: from - firstRow, end: to - firstRow });
      }
      before += end - start;
    }
    if (first === undefined) return undefined;
    const count = lengthOf(picked);
    const bytes = (elements: number) => (elements / format.blockElements) * format.blockBytes;
    const cut: RowCut = {
      stride: bytes(whole.columns),
      rows: picked,
      bytes: columns.map(({ start, end }) => ({ start: bytes(start), end: bytes(end) })),
    };
    return {
      rows: { part, firstRow: first, rowCount: count, format: own },
      byteLength: count * lengthOf(cut.bytes),
      cut,
      fill: (source, target) => copyCut(cut, source, target),
    };
  }
}

/** The rows and columns that a rank has of a tensor. */
function piecesOf({ shard, rows, columns }: Weight) {
  const whole = shard?.of ?? { rows, columns };
  return {
    whole,
    rows: shard?.rows ?? [{ start: 0, end: rows }],
    columns: shard?.columns ?? [{ start: 0, end: columns }],
  };
}

/** A weight without its shard: all of the tensor. */
function wholeOf({ shard, ...weight }: Weight): Weight {
  return shard ? { ...weight, ...shard.of } : weight;
}

/** Distinguishes the shards of a tensor from each other. */
function shardName({ shard }: Weight): string {
  if (!shard) return 'whole';
  return [shard.rows, shard.columns].map((ranges) => ranges.map(rangeName).join(',')).join(' x ');
}

function rangeName({ start, end }: Range): string {
  return `${start}-${end}`;
}

/**
 * The rows that have to be handed over together: as many as the ranks' layouts ask for, or all of them if a rank's rows do not begin
 * and end at multiples of these.
 */
function alignmentOf(ranks: readonly PackedWeight[], parts: readonly Weight[]): number {
  const alignment = Math.max(...ranks.map(({ rowAlignment }) => rowAlignment));
  const isAligned = ranks.every((rank) => rank.parts.every((part) => areMultiples(part, alignment)));
  return isAligned ? alignment : alignUp(Math.max(...parts.map(({ rows }) => rows)), alignment);
}

function areMultiples(weight: Weight, of: number): boolean {
  const { rows } = piecesOf(weight);
  return rows.every(({ start, end }, index) => {
    const isLast = index === rows.length - 1;
    return start % of === 0 && (isLast || end % of === 0);
  });
}
