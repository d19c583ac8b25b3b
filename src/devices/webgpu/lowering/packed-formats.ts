import { alignUp } from '../../../base/bytes.ts';
import { type PackedGroups, packedGroups, quantPlanes, SCALE_BYTES } from '../../../device/index.ts';
import type { BlockLayout, TensorFormat } from '../../../formats/index.ts';
import type { GpuTarget } from '../gpu-target.ts';
import { HALVES } from '../kernels/library/halves.ts';
import { packedDotText } from '../kernels/library/packed-dot.ts';
import { loadQuantsText } from '../kernels/quants.ts';
import { scalesText } from '../kernels/scales.ts';
import type { Constant } from '../launching/kernel-module.ts';
import { levelsText } from './format-text.ts';

/** A quantized format as kernels multiply it. */
export interface PackedFormat {
  readonly groups: PackedGroups;
  readonly layout: BlockLayout;
}

/** The format as kernels multiply it; undefined for those whose elements are numbers of their own. */
export function packedFormat(format: TensorFormat): PackedFormat | undefined {
  const groups = packedGroups(format);
  const { layout } = format;
  return groups && layout && { groups, layout };
}

/** True where eight groups share a word of their scales. */
export function sharesScales({ groups }: PackedFormat): boolean {
  return SCALE_BYTES[groups.scales][1] > 0;
}

/** Groups that share no word of any plane with others. */
export function unitGroups({ groups }: PackedFormat): number {
  const [own] = SCALE_BYTES[groups.scales];
  return Math.max(2, groups.blockGroups, (4 / own) * groups.span);
}

/** Where the planes of a chunk start, in words, for texts that load or store them. */
export interface PlanePlaces {
  readonly HIGH_AT: number;
  readonly SIGNS_AT: number;
  readonly SCALES_AT: number;
  readonly SUPER_AT: number;
  /** The codebook's. */
  readonly TABLE_AT: number;
}

/** The planes of a chunk of that many groups, each from a whole vector on, and the bytes of all. */
export function planePlaces(
  format: PackedFormat,
  groups: number,
): { readonly places: PlanePlaces; readonly byteLength: number } {
  const { quants, scales, span } = format.groups;
  const [low = 0, ...more] = quantPlanes(quants);
  const hasSigns = quants.kind === 'grid' && quants.change === 'signs';
  const signs = hasSigns ? (more.at(-1) ?? 0) : 0;
  const high = more.length > (hasSigns ? 1 : 0) ? (more[0] ?? 0) : 0;
  const shared = sharesScales(format) ? 4 / 8 : 0;
  const planes = [low, high, signs, SCALE_BYTES[scales][0] / span, shared];
  const ends: number[] = [];
  for (const bytes of planes) ends.push((ends.at(-1) ?? 0) + alignUp(Math.ceil((bytes * groups) / 4), 4));
  const [HIGH_AT = 0, SIGNS_AT = 0, SCALES_AT = 0, SUPER_AT = 0, TABLE_AT = 0] = ends;
  const places = { HIGH_AT, SIGNS_AT, SCALES_AT, SUPER_AT, TABLE_AT };
  return { places, byteLength: 4 * TABLE_AT + tableWords(format).byteLength };
}

const NO_TABLE = new Uint32Array();
const tables = new Map<BlockLayout, Uint32Array>();

/** The codebook of a format in words of four levels, the first in the lowest bits; those that are moved are eight times `level + 1`. */
export function tableWords({ layout }: PackedFormat): Uint32Array {
  const { levels } = layout;
  if (levels.kind !== 'grid') return NO_TABLE;
  const known = tables.get(layout);
  if (known) return known;
  const book = levels.book();
  const shifts = levels.change.kind === 'shift';
  const words = new Uint32Array(book.length / 4);
  for (const [i, level] of book.entries()) {
    words[i >> 2] = (words[i >> 2] as number) | (((shifts ? 8 * (level + 1) : level) & 255) << (8 * (i & 3)));
  }
  tables.set(layout, words);
  return words;
}

/** What texts that load or store groups are compiled with, beside the planes' places. */
export function groupConstants({ groups }: PackedFormat): Record<string, Constant> {
  const { quants, span, scales, halves, mins, offset } = groups;
  const own: Record<string, Constant> = {
    OFFSET: offset,
    PER_HALF: halves,
    MINS: mins,
    SPAN: span,
    OWN_BITS: 8 * SCALE_BYTES[scales][0],
  };
  if (quants.kind === 'bits') return own;
  const { width, highBits, change } = quants;
  const runs = 32 / width;
  const signs = change === 'signs';
  return {
    ...own,
    RUNS: runs,
    WORDS: width / 4,
    HIGH: highBits,
    HIGH_BITS: runs * (highBits + (signs ? 0 : 1)),
    SIGNS: signs,
  };
}

/** What texts that read a packed matrix need: loads, scales, levels, dot products. */
export function packedTexts(format: PackedFormat, target: GpuTarget): readonly string[] {
  const { quants, scales } = format.groups;
  return [
    HALVES,
    packedDotText(target),
    loadQuantsText(quants),
    scalesText(scales, sharesScales(format)),
    levelsText(format.layout),
  ];
}
