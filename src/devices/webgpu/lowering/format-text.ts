import {
  changeText,
  codeText,
  type KernelLanguage,
  numberText,
  type PackedGroups,
  scaleTexts,
} from '../../../device/index.ts';
import type { BlockLayout } from '../../../formats/index.ts';
import { floatText } from '../kernels/library/float-text.ts';

/** WGSL in terms of `block`, the offset of the block in bytes, and `e`, the element's index in it. */
const WGSL: KernelLanguage = {
  literal: (value) => `${value}u`,
  load: (bits, at) => `${{ 8: 'byte', 16: 'half', 32: 'word' }[bits]}_at(block + ${at})`,
  choose: (condition, yes, no) => `select(${no}, ${yes}, ${condition})`,
  digit: (byte, number) => `ternary_digit(${byte}, ${number})`,
  element: 'e',
};

/** `levels(quad)`: converts four stored quants to what is multiplied, before `OFFSET` is subtracted. */
export function levelsText({ levels }: BlockLayout): string {
  if (levels.kind === 'grid' || levels.level.kind === 'signed') return LEVELS_AS_STORED;
  if (levels.level.kind === 'linear') {
    const { step } = levels.level;
    return step === 1 ? LEVELS_AS_STORED : `fn levels(quad: u32) -> u32 { return quad * ${step}u; }`;
  }
  const { table } = levels.level;
  const [first, second, third, fourth] = [0, 4, 8, 12].map((from) => {
    const word = [3, 2, 1, 0].reduce((sum, k) => (sum << 8) | ((table[from + k] ?? 0) & 255), 0);
    return `0x${(word >>> 0).toString(16)}u`;
  });
  return /* wgsl */ `
fn table_level(nibble: u32) -> u32 {
  let low = select(${first}, ${second}, (nibble & 4u) != 0u);
  let high = select(${third}, ${fourth}, (nibble & 4u) != 0u);
  return (select(low, high, (nibble & 8u) != 0u) >> (8u * (nibble & 3u))) & 255u;
}
fn levels(quad: u32) -> u32 {
  return table_level(quad & 15u) | (table_level((quad >> 8u) & 15u) << 8u) |
    (table_level((quad >> 16u) & 15u) << 16u) | (table_level((quad >> 24u) & 15u) << 24u);
}
`;
}

const LEVELS_AS_STORED = 'fn levels(quad: u32) -> u32 { return quad; }';

/** What packing reads from a block. f16 numbers are stored as f32 if they scale eight groups. */
export function blockTexts(layout: BlockLayout, { scales, unit }: PackedGroups): string {
  const { own, shared } = scaleTexts(scales, layout, WGSL);
  const widened = layout.min
    ? shared
    : shared && `bitcast<u32>(half_to_float(${shared}) * ${floatText(unit)})`;
  return [
    ...quantTexts(layout),
    `fn own_scales(block: u32, e: u32) -> u32 { return ${own}; }`,
    ...(widened ? [`fn shared_scales(block: u32) -> u32 { return ${widened}; }`] : []),
  ].join('\n');
}

function quantTexts({ levels }: BlockLayout): string[] {
  if (levels.kind === 'codes') {
    return [`fn quant(block: u32, e: u32) -> u32 { return ${codeText(levels.code, WGSL)}; }`];
  }
  const { entry, change } = levels;
  const bits = changeText(levels, WGSL);
  const whole = change.kind === 'signs' && change.even ? `even_signs(${bits})` : bits;
  return [
    `fn entry(block: u32, e: u32) -> u32 { return ${numberText(entry, WGSL)}; }`,
    `fn change(block: u32, e: u32) -> u32 { return ${whole}; }`,
  ];
}
