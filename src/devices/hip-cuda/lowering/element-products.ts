import type {
  ElementChainIntent,
  ElementProduct,
  ElementProductsIntent,
  ElementStep,
  JoinedRows,
} from '../../../device/index.ts';
import { F32 } from '../../../formats/index.ts';
import { type GatedFunction, type Tensor, type Weight, weightRowBytes } from '../../../ops/index.ts';
import type { Operand } from './launch-plan.ts';
import { int } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { tileGeometry } from './element-tiles.ts';
import { bucketOf, MATVEC_ROWS } from './staging.ts';
import { FILE_LAYOUT, FLOAT_LAYOUT } from './weight-layout.ts';

const THREADS = 256;
/** Threads that share an output: of the usual lines, of short ones, and all of a block's where outputs are few. */
const TEAMS = { usual: 32, short: 8, few: THREADS } as const;
/** Vectors of a short line at most: a warp would have few or none for each lane, and then add up its sums. */
const SHORT_VECTORS = 80;
const VECTOR_BYTES = 16;
/** Most threads that share an output of gates and ups, of which a block has one each at least. */
const MOST_GATED = THREADS / 2;

/** Rows up to which a product by few outputs, such as a mixture's router, is computed in parts of few rows. */
const MAX_ROWS = 32;
/** Blocks of such a product, of one output each: it is bound by latency, and its weights stay in the cache. */
const MAX_BLOCKS = 512;

/** The codes of formats in `float-matvec.hip` and `element-tiles.hip`. */
const WEIGHT_CODES: Readonly<Record<string, number>> = { F32: 0, F16: 1, BF16: 2 };

/** A product of rows of f32. */
export interface FloatProduct {
  readonly x: Operand;
  /** What has the batch's rows. */
  readonly rows: Tensor;
  readonly weight: Weight;
  /** What multiplies the same rows where `weight` makes gates, and how both become one. */
  readonly gated?: { readonly up: Weight; readonly fn: GatedFunction } | undefined;
  readonly bias?: Weight | undefined;
  readonly y: Operand;
}

/**
 * A product with its elementwise steps as C++: `text` is an expression in `value`, for element `n` of a row at `at`.
 */
interface ChainedProduct extends FloatProduct {
  /** Where results are among rows of several products. */
  readonly joined?: JoinedRows | undefined;
  readonly operands: readonly { readonly name: string; readonly of: Tensor | Weight }[];
  readonly text: string;
}

/** One launch for products on the same rows: of one format where tiles compute them. */
export function emitElementProducts({ products }: ElementProductsIntent, to: Lowering): void {
  const chained = products.map(withChain);
  const [{ rows }] = chained as [ChainedProduct];
  if (to.capacity(rows) <= MATVEC_ROWS) launchProducts(chained, to);
  else launchTiles(chained, to);
}

/** A product of more rows than matrix-vector kernels take, in parts of so many; false if its weights are not read so. */
export function tryFewFloatRows(product: FloatProduct, to: Lowering): boolean {
  const { rows, weight } = product;
  const whole = weight.columns % (weight.format === F32 ? 4 : 8) === 0;
  const few = to.capacity(rows) <= MAX_ROWS && blocksOf(product, TEAMS.few) <= MAX_BLOCKS;
  if (!(weight.format.name in WEIGHT_CODES && whole && few)) return false;
  launchProducts([{ ...product, operands: [], text: 'value' }], to);
  return true;
}

function launchProducts(products: readonly ChainedProduct[], to: Lowering): void {
  const [{ rows }] = products as [ChainedProduct];
  const capacity = to.capacity(rows);
  const rowsAtOnce = bucketOf(capacity);
  const teams = teamsFor(products, to);
  const { blocks, starts } = placed(products, (product, p) => blocksOf(product, teams[p] as number));
  to.launch({
    file: 'float-matvec.hip',
    kernel: 'float_matvec',
    defines: {
      ROWS: rowsAtOnce,
      MULTIPLY: multiplyText(products, teams),
      ...productTexts(products),
    },
    grid: [blocks, Math.ceil(capacity / rowsAtOnce)],
    block: THREADS,
    args: [to.count(rows), ...productArgs(products, starts, to)],
  });
}

/** One launch for products of more rows on the matrix cores: see `element-tiles.hip`. */
function launchTiles(products: readonly ChainedProduct[], to: Lowering): void {
  const [{ rows, weight }] = products as [ChainedProduct];
  const weights = products.map((product) => product.weight);
  const { defines, threads, rowTiles } = tileGeometry(weights, to.capacity(rows), to.target);
  const { blocks, starts } = placed(products, (product) =>
    Math.ceil(product.weight.rows / defines.TILE_LINES),
  );
  to.launch({
    file: 'element-tiles.hip',
    kernel: 'element_tiles',
    defines: {
      WEIGHT: WEIGHT_CODES[weight.format.name] as number,
      ...defines,
      ...productTexts(products),
    },
    grid: [blocks, rowTiles],
    block: threads,
    args: [to.count(rows), ...productArgs(products, starts, to)],
  });
}

/** The first block of each product, and how many all have. */
function placed(
  products: readonly ChainedProduct[],
  blocksOfOne: (product: ChainedProduct, p: number) => number,
): { readonly blocks: number; readonly starts: readonly number[] } {
  let blocks = 0;
  const starts = products.map((product, p) => {
    const start = blocks;
    blocks += blocksOfOne(product, p);
    return start;
  });
  return { blocks, starts };
}

/** What a kernel's text says of its products. */
function productTexts(products: readonly ChainedProduct[]): Readonly<Record<string, string>> {
  return {
    PARAMETERS: products.map(parametersOf).join(''),
    SELECT_PRODUCT: products.map(chooseText).join(' '),
    EPILOGUE: `switch (product) { ${products.map(epilogueText).join(' ')} }`,
  };
}

function productArgs(
  products: readonly ChainedProduct[],
  starts: readonly number[],
  to: Lowering,
): readonly Operand[] {
  return products.flatMap((product, p) => argumentsOf(product, starts[p] as number, to));
}

function blocksOf({ weight, gated }: FloatProduct, team: number): number {
  return Math.ceil((weight.rows * (gated ? 2 : 1)) / (THREADS / team));
}

/** Threads that share an output of each product: a whole block if there would otherwise be too few blocks for the multiprocessors. */
function teamsFor(products: readonly ChainedProduct[], to: Lowering): number[] {
  const blocks = products.reduce((sum, product) => sum + blocksOf(product, TEAMS.usual), 0);
  if (blocks < to.target.multiprocessors)
    return products.map(({ gated }) => (gated ? MOST_GATED : TEAMS.few));
  return products.map(({ weight }) =>
    weightRowBytes(weight) <= SHORT_VECTORS * VECTOR_BYTES ? TEAMS.short : TEAMS.usual,
  );
}

/** Computes a product with the kernel for its weights' format and its teams. */
function multiplyText(products: readonly ChainedProduct[], teams: readonly number[]): string {
  const cases = new Map<string, string>();
  products.forEach(({ weight, gated }, p) => {
    const kind = `${WEIGHT_CODES[weight.format.name] as number}, ${teams[p] as number}, ${gated !== undefined}`;
    cases.set(kind, `${cases.get(kind) ?? ''}case ${p}: `);
  });
  const texts = [...cases].map(
    ([kind, labels]) => `${labels}out = multiplied<${kind}>(of, first_row, rows, shared); break;`,
  );
  return `switch (product) { ${texts.join(' ')} }`;
}

function withChain(product: ElementProduct, p: number): ChainedProduct {
  const { op, gated, joined, out } = product;
  const { x, weight, bias } = op;
  const both = gated && { up: gated.up.weight, fn: gated.op.fn };
  return {
    x,
    rows: x,
    weight,
    gated: both,
    bias,
    joined,
    y: joined?.memory ?? out,
    ...chainOf(product, `e${p}_`),
  };
}

/** Steps as C++ with their operands, named with a `prefix`. */
function chainOf(
  { steps, out: { width } }: Pick<ElementProduct, 'steps' | 'out'>,
  prefix: string,
): Pick<ChainedProduct, 'operands' | 'text'> {
  const operands: { name: string; of: Tensor | Weight }[] = [];
  const named = (of: Tensor | Weight): string => {
    const name = `${prefix}${operands.length}`;
    operands.push({ name, of });
    if (of.kind === 'tensor') return of.width === width ? `${name}[at]` : `${name}[at / ${width / of.width}]`;
    if (of.columns === 1) return `${name}[0]`;
    return of.columns === width ? `${name}[n]` : `${name}[n / ${width / of.columns}]`;
  };
  const text = steps.reduce((value, step) => stepText(step, value, step.operands.map(named)), 'value');
  return { operands, text };
}

function operandArgs(operands: ChainedProduct['operands'], to: Lowering): Operand[] {
  return operands.map(({ of }) => (of.kind === 'weight' ? to.weight([of], FLOAT_LAYOUT) : of));
}

/** One launch for the elementwise operators after a tensor. */
export function emitElementChain({ x, steps, out }: ElementChainIntent, to: Lowering): void {
  const { operands, text } = chainOf({ steps, out }, 'e');
  to.launch({
    file: 'element-chain.hip',
    kernel: 'element_chain',
    defines: { PARAMETERS: operands.map(({ name }) => `, const f32* ${name}`).join(''), CHAIN: text },
    grid: [Math.ceil((to.capacity(out) * out.width) / THREADS)],
    block: THREADS,
    args: [to.count(out), x, out, int(out.width), ...operandArgs(operands, to)],
  });
}

function stepText({ op }: ElementStep, value: string, [first, second]: readonly string[]): string {
  switch (op.kind) {
    case 'unary':
      return `${op.fn}_of(${value})`;
    case 'clamp':
      return `min_of(max_of(${value}, ${literal(op.low)}), ${literal(op.high)})`;
    case 'scale':
      return `(${literal(op.factor)} * ${value})`;
    case 'add':
      return `(${value} + ${first})`;
    case 'mul':
      return `(${value} * ${first})`;
    case 'lerp':
      return `lerp(${first}, ${second}, ${value})`;
  }
}

/** A number as its bits, so that no digits are lost. */
function literal(value: number): string {
  const [bits = 0] = new Uint32Array(Float32Array.of(value).buffer);
  return `bit_cast<f32>(0x${bits.toString(16)}u)`;
}

function parametersOf({ gated, bias, operands }: ChainedProduct, p: number): string {
  const names = operands.map(({ name }) => `, const f32* ${name}`).join('');
  const sizes = `, i32 outputs${p}, i32 columns${p}, i32 start${p}`;
  const up = gated ? `, const u8* up${p}` : '';
  return `, const f32* x${p}, const u8* w${p}${up}, f32* y${p}${sizes}${bias ? `, const f32* bias${p}` : ''}${names}`;
}

function argumentsOf(
  { x, weight, gated, bias, y, operands }: ChainedProduct,
  start: number,
  to: Lowering,
): Operand[] {
  const sizes = [int(weight.rows), int(weight.columns), int(start)];
  const biases = bias ? [to.weight([bias], FLOAT_LAYOUT)] : [];
  const weights = [weight, ...(gated ? [gated.up] : [])].map((one) => to.weight([one], FILE_LAYOUT));
  return [x, ...weights, y, ...sizes, ...biases, ...operandArgs(operands, to)];
}

function chooseText({ gated }: ChainedProduct, p: number): string {
  const found = [
    `product = ${p}`,
    `x = x${p}`,
    `weight = w${p}`,
    ...(gated ? [`up = up${p}`] : []),
    `outputs = outputs${p}`,
    `columns = columns${p}`,
    `first_block = start${p}`,
  ];
  return `if (block >= start${p}) { ${found.join('; ')}; }`;
}

function epilogueText({ gated, bias, joined, text }: ChainedProduct, p: number): string {
  const biased = bias ? `value += bias${p}[n]; ` : '';
  const combined = gated ? `value = ${gatedText(gated.fn)}; ` : '';
  const place = joined ? `row * ${joined.stride} + ${joined.start} + n` : 'at';
  return `case ${p}: ${biased}${combined}y${p}[${place}] = ${text}; break;`;
}

/** A gate `value` and the up beside it as C++. */
function gatedText(fn: GatedFunction): string {
  return fn === 'swiglu_oai' ? 'swiglu_oai_of(value, out.up)' : `${fn}_of(value) * out.up`;
}
