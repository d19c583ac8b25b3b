import { bitsOf, type BlockLayout, dependsOn, type TensorFormat } from '../../formats/index.ts';

/** How codes become the weights of a dot product; the kernels' `layout.ts` illustrates them. */
export type Codes = 'small' | 'lifted' | 'large' | 'wide' | 'medium' | 'signed' | 'five' | 'six';

/** The scale words of four rows and 32 columns. */
export type Words = 'half' | 'half_offset' | 'float' | 'float16' | SubWords | `half_${SubWords}`;

/** Those of scales within a block's own. */
type SubWords = 'sub' | 'sub16' | 'sub16_offset';

/** How weights of a format are laid out. */
export interface LayoutClasses {
  readonly codes: Codes;
  readonly words: Words;
}

/** Values in lookup tables are unsigned; beyond this spread they need eight bits. */
const MAX_LOOKED_UP = 127;

/** Those that all kernels read. */
export function classesOf(format: TensorFormat, layout: BlockLayout): LayoutClasses {
  return { codes: codesOf(format, layout), words: wordsOf(format, layout) };
}

/** Those that native kernels read: codes in as many bits as they have where others read them in eight, and halves as in the file. */
export function nativeClassesOf(format: TensorFormat, layout: BlockLayout): LayoutClasses {
  return { codes: nativeCodesOf(format, layout), words: nativeWordsOf(format, layout) };
}

/** The kind of codes for a format's levels. */
export function codesOf(format: TensorFormat, layout: BlockLayout): Codes {
  const { levels } = layout;
  if (levels.kind === 'grid') return isOdd(gridLevels(layout)) ? 'small' : 'large';
  const { code, level } = levels;
  if (level.kind === 'signed') return 'signed';
  if (level.kind === 'table') {
    return Math.max(...level.table) - Math.min(...level.table) > MAX_LOOKED_UP ? 'wide' : 'large';
  }
  if (!('runs' in code) && bitsOf(code) > 4) return 'medium';
  return wordsOf(format, layout) === 'half' ? 'lifted' : 'small';
}

function nativeCodesOf(format: TensorFormat, layout: BlockLayout): Codes {
  const codes = codesOf(format, layout);
  const { levels } = layout;
  if (codes !== 'medium' || levels.kind === 'grid' || 'runs' in levels.code) return codes;
  return bitsOf(levels.code) === 5 ? 'five' : 'six';
}

/** The kind of scale words for a format's scales. */
function wordsOf({ blockElements }: TensorFormat, { scale, min }: BlockLayout): Words {
  if (scale.as === 'e8m0') return 'float';
  if (scale.as === 'e4m3') return 'float16';
  if (blockElements < 256) return min ? 'half_offset' : 'half';
  if (!scale.sub || !dependsOn(scale.sub.number, 4)) return 'sub';
  return min ? 'sub16_offset' : 'sub16';
}

function nativeWordsOf(format: TensorFormat, layout: BlockLayout): Words {
  const words = wordsOf(format, layout);
  const { levels, scale, min } = layout;
  const isHalf = scale.as === 'half' && scale.number.length === 1 && scale.unit === undefined;
  if (!isHalf || levels.kind === 'grid') return words;
  // Offsets that are no minimum but products with the scale are no halves.
  if (words === 'sub') return min ? 'half_sub' : words;
  return words === 'sub16' || words === 'sub16_offset' ? `half_${words}` : words;
}

/** The levels of a codebook before signs are applied, in ascending order. */
export function gridLevels({ levels }: BlockLayout): readonly number[] {
  return levels.kind === 'grid' ? levels.book.levels : [];
}

/** Whether the levels are 1, 3, 5 ... 15, whose signed values are evenly spaced. */
export function isOdd(levels: readonly number[]): boolean {
  return levels.length === 8 && levels.every((level, i) => level === 2 * i + 1);
}
