import { alignUp } from '../../../base/bytes.ts';
import type { TensorFormat } from '../../../formats/index.ts';
import type { GpuTarget } from '../gpu-target.ts';
import { IQ4_NL } from '../kernels/formats/iq4-nl.ts';
import { IQ4_XS } from '../kernels/formats/iq4-xs.ts';
import { Q2_K } from '../kernels/formats/q2-k.ts';
import { Q3_K } from '../kernels/formats/q3-k.ts';
import { Q4_0 } from '../kernels/formats/q4-0.ts';
import { Q4_1 } from '../kernels/formats/q4-1.ts';
import { Q4_K } from '../kernels/formats/q4-k.ts';
import { Q5_0 } from '../kernels/formats/q5-0.ts';
import { Q5_1 } from '../kernels/formats/q5-1.ts';
import { Q5_K } from '../kernels/formats/q5-k.ts';
import { Q6_K } from '../kernels/formats/q6-k.ts';
import { Q8_0 } from '../kernels/formats/q8-0.ts';
import { HALVES } from '../kernels/library/halves.ts';
import { packedDotText } from '../kernels/library/packed-dot.ts';
import type { PackedFormat } from '../kernels/packed-format.ts';
import { loadQuantsText, QUANT_PLANES } from '../kernels/quants.ts';
import { SCALE_PLANES, scalesText } from '../kernels/scales.ts';

const FORMATS: Readonly<Record<string, PackedFormat>> = {
  Q4_0,
  Q4_1,
  Q5_0,
  Q5_1,
  Q8_0,
  Q2_K,
  Q3_K,
  Q4_K,
  Q5_K,
  Q6_K,
  IQ4_NL,
  IQ4_XS,
};

/** The format as kernels multiply it; undefined for those that are decoded when they are loaded. */
export function packedFormat(format: TensorFormat): PackedFormat | undefined {
  return FORMATS[format.name];
}

/** Where the planes of a chunk start, in words, for texts that load or store them. */
export interface PlanePlaces {
  readonly HIGH_AT: number;
  readonly SCALES_AT: number;
  readonly SUPER_AT: number;
}

/** The planes of a chunk of that many groups, each from a whole vector on, and the bytes of all. */
export function planePlaces(
  { bits, scales }: PackedFormat,
  groups: number,
): { readonly places: PlanePlaces; readonly byteLength: number } {
  const [low, high = 0] = QUANT_PLANES[bits];
  const [own, shared] = SCALE_PLANES[scales];
  const words = [low, high, own, shared / 8].map((each) => alignUp(Math.ceil(each * groups), 4));
  const [HIGH_AT = 0, SCALES_AT = 0, SUPER_AT = 0, end = 0] = words.map((_, i) =>
    words.slice(0, i + 1).reduce((sum, size) => sum + size, 0),
  );
  return { places: { HIGH_AT, SCALES_AT, SUPER_AT }, byteLength: 4 * end };
}

/** What texts that read a packed matrix need: loads, scales, levels, dot products. */
export function packedTexts({ bits, scales, levels }: PackedFormat, target: GpuTarget): readonly string[] {
  return [HALVES, packedDotText(target), loadQuantsText(bits), scalesText(scales), levels];
}
