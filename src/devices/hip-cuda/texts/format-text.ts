import { invariant } from '../../../base/errors.ts';
import {
  changeText,
  codeText,
  type KernelLanguage,
  numberText,
  type PackedGroups,
  packedGroups,
  type PackedQuants,
  type ScaleKind,
  scaleTexts,
} from '../../../device/index.ts';
import { type BlockLayout, formatNamed, type GridLevels, type TensorFormat } from '../../../formats/index.ts';

/** C++ in terms of `block`, the block's bytes, and `e`, the element's index in it. */
const CPP: KernelLanguage = {
  literal: String,
  load: (bits, at) => (bits === 8 ? `u32(block[${at}])` : `bytes_u${bits}(block + ${at})`),
  choose: (condition, yes, no) => `(${condition} ? ${yes} : ${no})`,
  digit: (byte, number) => `ternary_digit(${byte}, ${number})`,
  element: 'e',
};

/** Folders of generated headers and their generators. */
const HEADERS: Readonly<Record<string, (format: TensorFormat, layout: BlockLayout) => string>> = {
  formats: fileFormatText,
  packed: (format, layout) => packedFormatText(format, layout, packedGroups(format) as PackedGroups),
  grids: (_, { levels }) => (levels.kind === 'grid' ? gridText(levels) : ''),
};

/** The text of a kernel header generated from a format's layout, such as `packed/q4-k.h`; undefined for other names. */
export function formatText(name: string): string | undefined {
  const [, folder, file] = /^(\w+)\/([\w-]+)\.h$/.exec(name) ?? [];
  const header = folder !== undefined && HEADERS[folder];
  const format = file === undefined ? undefined : formatNamed(file.replaceAll('-', '_'));
  return header && format?.layout ? header(format, format.layout) : undefined;
}

/** The header in `folder` that is generated for a format. */
export function formatFile(folder: 'formats' | 'packed' | 'grids', { name }: TensorFormat): string {
  return `${folder}/${name.toLowerCase().replaceAll('_', '-')}.h`;
}

/**
 * A codebook: an entry of four is a word of signed bytes, the first in the lowest; one of eight a word of nibbles that are numbers of
 * levels, of which there are few. For those that are shifted, levels are eight times `level + 1`, or two more.
 */
function gridText({ book, width, change }: GridLevels): string {
  const own = [...book()].map((level) => (change.kind === 'shift' ? 8 * (level + 1) : level));
  const levels = [...new Set(own)].sort((a, b) => a - b);
  const bits = 32 / width;
  const digits = width === 8 ? own.map((level) => levels.indexOf(level)) : own;
  const words = Array.from({ length: own.length / width }, (_, entry) =>
    wordText(digits.slice(width * entry, width * (entry + 1)), bits),
  );
  const others = levels.map((level) => (change.kind === 'shift' ? level + 2 : -level));
  const level =
    width === 8 ? 'LOW_LEVELS >> (8 * ((GRID[entry] >> (4 * (e & 7))) & 7))' : 'GRID[entry] >> (8 * (e & 3))';
  const tables =
    width === 8
      ? `constexpr u32 LOW_LEVELS = ${wordText(levels, 8)}, HIGH_LEVELS = ${wordText(others, 8)};\n`
      : '';
  return `#pragma once
#include "prelude.h"

#define GRID_WORDS ${words.length}
CONSTANT u32 GRID[GRID_WORDS] = {
${words.join(',\n')}};
${tables}/// The level of element \`e\` of an entry, without what changes it.
DEVICE i32 grid_level(u32 entry, u32 e) { return i8(${level}); }
`;
}

/** Numbers of so many bits each as a word, the first in the lowest. */
function wordText(numbers: readonly number[], bits: number): string {
  const mask = 2 ** bits - 1;
  const word = numbers.reduceRight((sum, number) => (sum << bits) | (number & mask), 0);
  return `0x${(word >>> 0).toString(16)}u`;
}

function fileFormatText(format: TensorFormat, layout: BlockLayout): string {
  const { scale, min } = layout;
  const text = (number: Parameters<typeof numberText>[0]) => numberText(number, CPP);
  const numbers = { half: 'half_to_float(u16', e8m0: '(half_power', e4m3: '(half_e4m3' };
  const sub = scale.sub && { own: text(scale.sub.number), as: scale.sub.as };
  const factor =
    !sub || sub.as === 'odd'
      ? sub && `f32(2 * ${sub.own} + 1)`
      : sub.as === 'signed'
        ? `f32(i8(${sub.own}))`
        : `f32(i32(${sub.own}) - ${sub.as.less})`;
  const factors = [
    `${numbers[scale.as]}(${text(scale.number)}))`,
    ...(scale.unit === undefined ? [] : [floatText(scale.unit)]),
    ...(factor ? [factor] : []),
  ];
  const minimum = min && `half_to_float(u16(${text(min.number)}))`;
  const { head, level } = levelTexts(format, layout);
  return `#pragma once
#include "formats/numbers.h"
${head}
struct FileFormat {
  static constexpr i32 ELEMENTS = ${format.blockElements}, BYTES = ${format.blockBytes}, STEP = 8;
  DEVICE f32 scale(const u8* block, u32 e) { return ${factors.join(' * ')}; }
  DEVICE f32 minimum(const u8* block, u32 e) { return ${minimum ? (min.sub ? `-(${minimum} * f32(${text(min.sub)}))` : minimum) : '0'}; }
  DEVICE i32 level(const u8* block, u32 e) { ${level} }
  DEVICE void decode(const u8* block, i32 part, f32* out) {
    u32 first = 8 * part;
    f32 d = scale(block, first)${minimum ? ', m = minimum(block, first)' : ''};
    UNROLL for (i32 i = 0; i < 8; i++) out[i] = d * f32(level(block, first + i))${minimum ? ' + m' : ''};
  }
};
`;
}

function floatText(value: number): string {
  return Number.isInteger(value) ? `${value}.0f` : `${value}f`;
}

/** The declarations that a level needs, and the statement that returns the level of element `e`. */
function levelTexts(format: TensorFormat, { levels }: BlockLayout): { head: string; level: string } {
  if (levels.kind === 'grid') {
    const { entry, change } = levels;
    const own = `grid_level(${numberText(entry, CPP)}, e)`;
    const bits = changeText(levels, CPP);
    const signs = change.kind === 'signs' && change.even ? `even_signs(${bits})` : bits;
    return {
      head: `#include "${formatFile('grids', format)}"\n`,
      level:
        change.kind === 'shift'
          ? `return ${own} + (${bits} ? 0 : 2) - 9;`
          : `i32 own = ${own};\n    return (${signs} >> (e & 7)) & 1 ? -own : own;`,
    };
  }
  const { code, level } = levels;
  const q = codeText(code, CPP);
  if (level.kind === 'signed') return { head: '', level: `return i8(${q});` };
  if (level.kind === 'linear') {
    return {
      head: '',
      level: `return i32(${level.step === 1 ? '' : `${level.step} * `}${q}) - ${level.less};`,
    };
  }
  const head = `\nCONSTANT i8 LEVELS[${level.table.length}] = {${level.table.join(', ')}};\n`;
  return { head, level: `return LEVELS[${q}];` };
}

/** The kernels' classes of scales. */
const SCALE_CLASSES: Readonly<Record<ScaleKind, (groups: PackedGroups) => string>> = {
  half: ({ span }) => `HalfScales<${span}>`,
  'half-pair': () => 'HalfScalesAndMins',
  exponent: () => 'ExponentScales',
  'small-floats': () => 'SmallFloatScales',
  'signed-bytes': ({ halves }) => `ByteScales<${halves}>`,
  'odd-nibbles': ({ halves, unit }) => `OddScales<${halves}, ${1 / unit}>`,
  'byte-pair': () => 'ByteScalesAndMins<false>',
  'nibble-pairs': () => 'ByteScalesAndMins<true>',
};

/** The kernels' headers and classes of codebooks. */
const GRID_NAMES = { 4: { file: 'four', name: 'Four' }, 8: { file: 'eight', name: 'Eight' } } as const;

/** Where an octet's codes are: in a loaded group, and loaded by themselves. */
const OCTET_OF_GROUP = {
  word: 'Q::word(of.nibbles, t)',
  quads: ['Q::quad(of, t)', 'Q::quad(of, t + 4)'],
} as const;
const OCTET_ALONE = { word: 'of.nibbles', quads: ['octet.low', 'octet.high'] } as const;

function packedFormatText(format: TensorFormat, layout: BlockLayout, groups: PackedGroups): string {
  const { own, shared = '0' } = scaleTexts(groups.scales, layout, CPP);
  const { quants } = groups;
  const grid =
    quants.kind === 'grid'
      ? `#include "${formatFile('grids', format)}"\n#include "packed/grids-of-${GRID_NAMES[quants.width].file}.h"\n`
      : '';
  return `#pragma once
#include "formats/numbers.h"
#include "packed/quants.h"
#include "packed/scales.h"
${grid}
struct PackedFormat {
  typedef ${quantsClass(layout, quants)} Q;
  typedef ${SCALE_CLASSES[groups.scales](groups)} S;
  static constexpr i32 OFFSET = ${groups.offset}, BLOCK_GROUPS = ${groups.blockGroups}, BLOCK_BYTES = ${groups.blockBytes};
  static constexpr bool SIGNED = ${groups.signed};
  static constexpr f32 WEIGHT_SCALE = ${groups.weightScale};
${entriesText(quants)}
  /// The levels of quads t and t + 4, out of a whole group and by themselves.
  DEVICE Octet octet_levels(const Entries& of, i32 t) { return ${octetText(layout, OCTET_OF_GROUP)}; }
  DEVICE Octet loaded_levels(const Q::LoadedOctet& of, [[maybe_unused]] i32 t) { ${tableOf(layout) ? '' : 'Octet octet = Q::octet(of, t); '}return ${octetText(layout, OCTET_ALONE)}; }
  /// The same as halves less OFFSET, in the order of halves.h.
  DEVICE u32x4 octet_halves(const Entries& of, i32 t) { return ${octetHalvesText(layout, quants)}; }
${quantTexts(layout)}
  DEVICE u32 own_scales(const u8* block, u32 e) { return ${own}; }
  DEVICE u32 shared_scales(const u8* block, u32 e) { return ${shared}; }
};
`;
}

function tableOf({ levels }: BlockLayout): Int8Array | undefined {
  return levels.kind === 'codes' && levels.level.kind === 'table' ? levels.level.table : undefined;
}

function quantsClass(layout: BlockLayout, quants: PackedQuants): string {
  if (tableOf(layout)) {
    invariant(quants.kind === 'bits' && quants.bits === 4, 'codes of a table have four bits');
    return 'TableQuants';
  }
  if (quants.kind === 'bits') return `Quants<${quants.bits}>`;
  const { width, highBits, change } = quants;
  return `${GRID_NAMES[width].name}GridQuants<${width === 8 ? `${highBits}, ${change === 'signs'}` : highBits}>`;
}

/** Converts four stored quants to what is multiplied. */
function levelsText({ levels }: BlockLayout, quad: string): string {
  const isScaled = levels.kind === 'codes' && levels.level.kind === 'linear' && levels.level.step !== 1;
  return isScaled ? `${quad} * ${levels.level.step}` : quad;
}

/** The levels of an octet, out of its word or its two quads: the codes of a table are looked up eight at a time. */
function octetText(
  layout: BlockLayout,
  of: { readonly word: string; readonly quads: readonly [string, string] },
): string {
  const table = tableOf(layout);
  if (table) return `table_octet(${of.word}, ${tableWords(table)})`;
  return `{${of.quads.map((quad) => levelsText(layout, quad)).join(', ')}}`;
}

/** Converts an octet of a loaded group to halves: nibbles that are levels without a detour over bytes. */
function octetHalvesText({ levels }: BlockLayout, quants: PackedQuants): string {
  const isLinear = levels.kind === 'codes' && levels.level.kind === 'linear' && levels.level.step === 1;
  if (isLinear && quants.kind === 'bits' && quants.bits === 4)
    return 'nibble_halves<OFFSET>(Q::word(of.nibbles, t))';
  return 'byte_halves<OFFSET, SIGNED>(octet_levels(of, t))';
}

/** A loaded group whose entries are looked up, and what kernels with GRID_COPIED call first, followed by a barrier. */
function entriesText({ kind }: PackedQuants): string {
  if (kind === 'bits') {
    return `  static constexpr bool HAS_GRID = false;
  typedef Q::Loaded Entries;
  DEVICE Entries entries(const Q::Loaded& loaded) { return loaded; }
  DEVICE void prepare(i32) {}`;
  }
  return `  static constexpr bool HAS_GRID = true;
  typedef Q::Entries Entries;
  DEVICE Entries entries(const Q::Loaded& loaded) { return Q::entries(loaded); }
#ifdef GRID_COPIED
  DEVICE void prepare(i32 threads) { copy_grid(threads); }
#endif`;
}

/** A table of sixteen levels as four words. */
function tableWords(table: Int8Array): string {
  return [0, 4, 8, 12].map((from) => wordText([...table.slice(from, from + 4)], 8)).join(', ');
}

/** What packing reads from a block: the elements' codes, or the runs' entries and what modifies their levels. */
function quantTexts({ levels }: BlockLayout): string {
  if (levels.kind === 'codes') {
    return `  DEVICE u32 quant(const u8* block, u32 e) { return ${codeText(levels.code, CPP)}; }
  DEVICE void pack_quants(const Q::Planes& planes, i64 index, const u8* block, u32 first) {
    pack_codes<PackedFormat>(planes, index, block, first);
  }`;
  }
  const { change } = levels;
  const bits = changeText(levels, CPP);
  return `  DEVICE u32 entry(const u8* block, u32 e) { return ${numberText(levels.entry, CPP)}; }
  DEVICE u32 change(const u8* block, u32 e) { return ${change.kind === 'signs' && change.even ? `even_signs(${bits})` : bits}; }
  DEVICE void pack_quants(const Q::Planes& planes, i64 index, const u8* block, u32 first) {
    pack_runs<PackedFormat>(planes, index, block, first);
  }`;
}
