import { changeText, codeText, type KernelLanguage, numberText } from '../../device/index.ts';
import {
  ALL_FORMATS,
  type BitField,
  type BlockLayout,
  type BlockNumber,
  dependsOn,
  type TensorFormat,
  type TernaryDigits,
} from '../../formats/index.ts';
import { classesOf, codesOf, gridLevels, isOdd, nativeClassesOf } from './format-classes.ts';

/** A quantized format for which kernels are generated. */
interface Described {
  readonly format: TensorFormat;
  readonly layout: BlockLayout;
}

/** AssemblyScript for an element, where `src` is the address of the block. */
function assemblyScript(element: number | string): KernelLanguage {
  return {
    literal: String,
    load: (bits, at) => `<u32>load<u${bits}>(src + ${at})`,
    choose: (condition, yes, no) => `(${condition} ? ${yes} : ${no})`,
    digit: (byte, number) => `ternaryDigit(${byte}, ${number})`,
    element: String(element),
  };
}

const described: readonly Described[] = ALL_FORMATS.flatMap((format) =>
  format.layout ? [{ format, layout: format.layout }] : [],
);

const INTRODUCTION = '/** Made by the build out of the layouts in src/formats; change those. */\n';

/** `kernels/formats.ts`: the properties of each format that kernels use. */
export function formatsText(): string {
  const numbers = described.map(({ format }, i) => `export const ${format.name}: i32 = ${i};`);
  return [
    INTRODUCTION,
    "import { setGroupOffset, setGroupScale, setOffset, setScale, SUB_OFFSETS, SUB_SCALES } from './canonical';",
    'import {',
    '  eightCodes, evenSigns, halfE4m3, halfPower, linearCodes, spreadBits, spreadPairs, storeCodes, ternaryDigits, twiceFourCodes,',
    '  unitScales,',
    "} from './format-parts';",
    "import { widenHalf, widenHalfBits } from './half';",
    '',
    ...numbers,
    '',
    ...described.flatMap(tableTexts),
    perFormat('blockColumns', 'u32', ({ format }) => format.blockElements),
    perFormat('blockBytes', 'usize', ({ format }) => format.blockBytes),
    perFormat('hasOffset', 'bool', ({ layout }) => layout.min !== undefined),
    perFormat('halfAt', 'usize', ({ layout }) => byteOf(layout.scale.number)),
    perFormat('minAt', 'usize', ({ layout }) => (layout.min ? byteOf(layout.min.number) : 0)),
    perFormat('codeBias', 'i32', (of) => codeBias(of)),
    perFormat('codeStep', 'i32', ({ layout }) => (isOdd(gridLevels(layout)) ? 2 : 1)),
    perFormat('levelBias', 'i32', (of) => levelBias(of)),
    perFormat('levels', 'usize', (of) => (tableOf(of) ? `${of.format.name}_LEVELS` : 0)),
    perFormat('hasSmallFloats', 'bool', ({ layout }) => layout.scale.as === 'e4m3'),
    smallFloats(),
    ...described.map(unpackText),
    '/** Takes the block at `src` apart into the canonical block at `t`. */',
    '@inline',
    'export function unpack(format: i32, src: usize, t: usize): void {',
    ...described.map(({ format: { name } }) => `  if (format == ${name}) unpack${name}(src, t);`),
    '}',
    '',
  ].join('\n');
}

/** Formats that are decoded by handwritten functions. */
const DECODED_BY_HAND = new Set(['Q4_0', 'Q8_0']);

/** `kernels/format-exports.ts`: the packing and decoding kernels of each format. */
export function formatExportsText(): string {
  const pack = ({ format, layout }: Described) => {
    const kinds = [classesOf(format, layout), nativeClassesOf(format, layout)];
    const packers = kinds.map(({ codes, words }) => {
      const name = `pack_${codes}_${words}_${format.name.toLowerCase()}`;
      return `/** A \`PackKernel\` of ${format.name}. */
export function ${name}(src: usize, packed: usize, firstRow: u32, rows: u32, columns: u32, scratch: usize): void {
  pack(F.${format.name}, L.${layoutName(codes)}, L.${layoutName(words)}, src, packed, firstRow, rows, columns, scratch);
}
`;
    });
    return [...new Set(packers)];
  };
  const decode = ({ format }: Described) => `/** The \`DecodeKernel\` of ${format.name}. */
export function decode_${format.name.toLowerCase()}(src: usize, out: usize, blocks: u32, scratch: usize): void {
  decodeBlocks(F.${format.name}, src, out, blocks, scratch);
}
`;
  return [
    INTRODUCTION,
    "import { decodeBlocks } from './decode-blocks';",
    "import * as F from './formats';",
    "import * as L from './layout';",
    "import { pack } from './pack-blocks';",
    '',
    ...described.flatMap(pack),
    ...described.filter(({ format }) => !DECODED_BY_HAND.has(format.name)).map(decode),
  ].join('\n');
}

/** The name of a kind of codes or words in `layout.ts`. */
function layoutName(kind: string): string {
  return kind.replace('16', '_16').toUpperCase();
}

/** The byte at which a number starts; 0 for one composed of several fields. */
function byteOf(number: readonly BitField[]): number {
  const [field] = number;
  return field && number.length === 1 ? field.at / 8 : 0;
}

function perFormat(name: string, type: string, value: (of: Described) => number | boolean | string): string {
  const cases = described.map((of) => `  if (format == ${of.format.name}) return ${value(of)};`);
  const rest = type === 'bool' ? 'false' : '0';
  return `@inline\nexport function ${name}(format: i32): ${type} {\n${cases.join('\n')}\n  return ${rest};\n}\n`;
}

/** The 16 signed values of a format's codes; undefined if the codes are the values. */
function tableOf({ layout }: Described): readonly number[] | undefined {
  const { levels } = layout;
  if (levels.kind === 'codes') return levels.level.kind === 'table' ? [...levels.level.table] : undefined;
  const own = gridLevels(layout);
  if (isOdd(own)) return undefined;
  const shifts = levels.change.kind === 'shift';
  const first = own.map((level) => (shifts ? 8 * level + 1 : level));
  const second = own.map((level) => (shifts ? 8 * level - 1 : -level));
  const filled = (some: readonly number[]) => Array.from({ length: 8 }, (_, i) => some[i] ?? 0);
  return [...filled(first), ...filled(second)];
}

/** The offset subtracted from codes that are not looked up. */
function codeBias({ format, layout }: Described): number {
  const { levels } = layout;
  if (levels.kind === 'grid') return isOdd(gridLevels(layout)) ? 15 : 0;
  if (levels.level.kind !== 'linear') return 0;
  return codesOf(format, layout) === 'lifted' ? 8 : levels.level.less;
}

/** The offset added to a table's values so that none is negative; 128 if they use all eight bits. */
function levelBias(of: Described): number {
  const table = tableOf(of);
  if (!table) return 0;
  return codesOf(of.format, of.layout) === 'wide' ? 128 : -Math.min(...table);
}

/** The tables for reading a format's blocks: the values of codes, the indices of a codebook's entries. */
function tableTexts(of: Described): string[] {
  const { format, layout } = of;
  const table = tableOf(of);
  const texts = table ? [`const ${format.name}_LEVELS: usize = memory.data<i8>([${table.join(', ')}]);`] : [];
  const { levels } = layout;
  if (levels.kind !== 'grid') return texts;
  const own = gridLevels(layout);
  const bits = levels.width === 8 ? 2 : 3;
  const book = levels.book();
  const entries = Array.from({ length: book.length / levels.width }, (_, entry) => {
    let packed = 0;
    for (let i = 0; i < levels.width; i++) {
      packed |= own.indexOf(book[entry * levels.width + i] as number) << (bits * i);
    }
    return packed;
  });
  return [...texts, `const ${format.name}_GRID: usize = memory.data<u16>([${entries.join(', ')}]);`];
}

/** The scale of 16 columns, for formats whose scales are small floats. */
function smallFloats(): string {
  const cases = described
    .filter(({ layout }) => layout.scale.as === 'e4m3')
    .map(({ format, layout }) => {
      const text = numberText(layout.scale.number, assemblyScript('(part << 4)'));
      return `  if (format == ${format.name}) return halfE4m3(${text});`;
    });
  return `@inline\nexport function smallFloat(format: i32, src: usize, part: u32): f32 {\n${cases.join('\n')}\n  return 0;\n}\n`;
}

function unpackText(of: Described): string {
  const { format, layout } = of;
  const statements = [...scaleStatements(layout), ...subStatements(of)];
  for (let first = 0; first < format.blockElements; first += 16) statements.push(codeStatement(of, first));
  const body = statements.map((statement) => `  ${statement};`).join('\n');
  return `function unpack${format.name}(src: usize, t: usize): void {\n${body}\n}\n`;
}

function scaleStatements({ scale, min }: BlockLayout): string[] {
  const number = numberText(scale.number, assemblyScript(0));
  const unit = scale.unit === undefined || scale.unit === 1 ? '' : ` * <f32>${scale.unit}`;
  const least = min ? [`setOffset(t, ${min.sub ? '-' : ''}widenHalf(src + ${byteOf(min.number)}))`] : [];
  if (scale.as === 'e4m3') return least;
  const value = {
    half: scale.number.length === 1 ? `widenHalf(src + ${byteOf(scale.number)})` : `widenHalfBits(${number})`,
    e8m0: `halfPower(${number})`,
  }[scale.as];
  return [`setScale(t, ${value}${unit})`, ...least];
}

/** Sub-scales and sub-offsets of blocks of 256 columns. */
function subStatements({ format, layout: { scale, min } }: Described): string[] {
  if (format.blockElements !== 256) return [];
  const { sub } = scale;
  if (!sub) return ['unitScales(t)'];
  const { as } = sub;
  const one = (text: string) =>
    as === 'odd' ? `2 * ${text} + 1` : as === 'signed' || as.less === 0 ? text : `<i32>${text} - ${as.less}`;
  const many = (run: string) => {
    if (as === 'odd') return `i8x16.add(i8x16.add(${run}, ${run}), i8x16.splat(1))`;
    return as === 'signed' || as.less === 0 ? run : `i8x16.sub(${run}, i8x16.splat(${as.less}))`;
  };
  return [
    ...subNumbers(sub.number, { at: 'SUB_SCALES', group: 'setGroupScale', one, many }),
    ...(min?.sub
      ? subNumbers(min.sub, {
          at: 'SUB_OFFSETS',
          group: 'setGroupOffset',
          one: (text) => text,
          many: (run) => run,
        })
      : []),
  ];
}

/** The values of a block's 16 runs of 16 columns: computed as a vector if their bits allow it, otherwise one by one. */
function subNumbers(
  number: BlockNumber,
  of: { at: string; group: string; one: (text: string) => string; many: (run: string) => string },
): string[] {
  const numbered = (element: number) => of.one(numberText(number, assemblyScript(element)));
  if (!dependsOn(number, 4)) {
    return Array.from({ length: 8 }, (_, g) => `${of.group}(t, ${g}, <i32>(${numbered(32 * g)}))`);
  }
  const run =
    'bit' in number
      ? undefined
      : runText(
          number.map((field) => ({ ...field, steps: field.steps.slice(4) })),
          0,
        );
  if (run !== undefined) return [`v128.store(t + ${of.at}, ${of.many(run)})`];
  return Array.from({ length: 16 }, (_, i) => `store<i8>(t + ${of.at} + ${i}, <i8>(${numbered(16 * i)}))`);
}

/** Writes the codes of 16 columns into the canonical block. */
function codeStatement({ format, layout }: Described, first: number): string {
  const { levels } = layout;
  if (levels.kind === 'grid') return gridStatement({ format, layout }, first);
  const { code, level } = levels;
  const run = 'runs' in code ? digitsText(code, first) : 'bit' in code ? undefined : runText(code, first);
  if (run === undefined) {
    const bytes = Array.from({ length: 16 }, (_, i) => codeText(code, assemblyScript(first + i)));
    return bytes.map((byte, i) => `store<u8>(t + ${first + i}, <u8>${byte})`).join(';\n  ');
  }
  const step = level.kind === 'linear' ? level.step : 1;
  const lift = level.kind === 'linear' && codesOf(format, layout) === 'lifted' ? 8 - level.less : 0;
  const stepped = Array.from({ length: step }, () => run).reduce((a, b) => `i8x16.add(${a}, ${b})`);
  return `v128.store(t + ${first}, ${lift === 0 ? stepped : `i8x16.add(${stepped}, i8x16.splat(${lift}))`})`;
}

function gridStatement({ format, layout }: Described, first: number): string {
  const { levels } = layout;
  if (levels.kind !== 'grid') return '';
  const { width, entry, change } = levels;
  const digits = (at: number) => {
    const number = numberText(entry, assemblyScript(first + at));
    return `load<u16>(${format.name}_GRID + 2 * ${number})`;
  };
  const signs = (at: number) => {
    const bits = changeText(levels, assemblyScript(first + at));
    if (change.kind === 'shift') return `(${bits} ? 255 : 0)`;
    return change.even ? `evenSigns(${bits})` : bits;
  };
  const eight = (at: number) => {
    if (width === 8) return `eightCodes(${digits(at)}, ${signs(at)})`;
    const codes = `twiceFourCodes(${digits(at)}, ${digits(at + 4)}, ${signs(at)})`;
    return isOdd(gridLevels(layout)) ? `linearCodes(${codes})` : codes;
  };
  return `storeCodes(t + ${first}, ${eight(0)}, ${eight(8)})`;
}

/**
 * The values of 16 consecutive elements as a vector of bytes; undefined if their bits are not laid out so that a few
 * instructions suffice.
 */
function runText(fields: readonly BitField[], first: number): string | undefined {
  let shift = 0;
  let text: string | undefined;
  for (const field of fields) {
    const own = fieldRun(field, first);
    if (own === undefined) return undefined;
    text = text === undefined ? own : `v128.or(${text}, i8x16.shl(${own}, ${shift}))`;
    shift += field.bits;
  }
  return text;
}

function fieldRun({ at, bits, steps }: BitField, first: number): string | undefined {
  const place = steps.reduce((sum, step, k) => sum + (k < 4 ? 0 : ((first >> k) & 1) * step), at);
  const address = `src + ${place >> 3}`;
  const bit = place & 7;
  const [a = 0, b = 0, c = 0, d = 0] = steps;
  const bytes = a === 8 && b === 16 && c === 32;
  const masked = (vector: string, from: number) => {
    const moved = from === 0 ? vector : `i16x8.shr_u(${vector}, ${from})`;
    return bits === 8 ? moved : `v128.and(${moved}, i8x16.splat(${2 ** bits - 1}))`;
  };
  if (bytes && d === 64 && bit + bits <= 8) return masked(`v128.load(${address})`, bit);
  if (bytes && d < 8 && bit + d + bits <= 8) {
    const eight = `v128.load64_splat(${address})`;
    return `v128.bitselect(${masked(eight, bit)}, ${masked(eight, bit + d)}, i64x2(-1, 0))`;
  }
  const dense = bit === 0 && a === bits && b === 2 * bits && c === 4 * bits && d === 8 * bits;
  if (dense && bits === 1) return `spreadBits(${address})`;
  return dense && bits === 2 ? `spreadPairs(${address})` : undefined;
}

function digitsText({ runs }: TernaryDigits, first: number): string | undefined {
  let start = 0;
  for (const run of runs) {
    const at = first - start;
    start += run.bytes * run.digits;
    if (first >= start) continue;
    const number = (lane: number) => 3 ** Math.floor((at + lane) / run.bytes);
    const powers = (from: number) => Array.from({ length: 8 }, (_, i) => number(from + i)).join(', ');
    const address = `src + ${run.start + (at % run.bytes)}`;
    const bytes = run.bytes === 4 ? `v128.load32_splat(${address})` : `v128.load(${address})`;
    return `ternaryDigits(${bytes}, i16x8(${powers(0)}), i16x8(${powers(8)}))`;
  }
  return undefined;
}
