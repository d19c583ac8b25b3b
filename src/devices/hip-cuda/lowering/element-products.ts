import type {
  ElementChainIntent,
  ElementProduct,
  ElementProductsIntent,
  ElementStep,
} from '../../../device/index.ts';
import type { MatmulOp, Tensor, Weight } from '../../../ops/index.ts';
import type { Operand } from './launch-plan.ts';
import { int } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { bucketOf } from './staging.ts';
import { FILE_LAYOUT, FLOAT_LAYOUT } from './weight-layout.ts';

const THREADS = 256;
const WARPS = 8;
/** Outputs that a team of warps computes at once. */
const LINES = 1;

/** The codes of formats in `float-matvec.hip`. */
const WEIGHT_CODES: Readonly<Record<string, number>> = { F32: 0, F16: 1, BF16: 2 };

/**
 * A product with its elementwise steps as C++: `text` is an expression in `value`, for element `n` of a row at `at`.
 */
interface ChainedProduct extends ElementProduct {
  readonly operands: readonly { readonly name: string; readonly of: Tensor | Weight }[];
  readonly text: string;
}

/** One launch for products of one format on the same rows. */
export function emitElementProducts({ products: of }: ElementProductsIntent, to: Lowering): void {
  const products = of.map(withChain);
  const [first] = products as [ChainedProduct];
  const { x, weight } = first.op;
  const team = teamFor(products, to);
  let blocks = 0;
  const starts = products.map(({ op }) => {
    const start = blocks;
    blocks += blocksOf(op, team);
    return start;
  });
  to.launch({
    file: 'float-matvec.hip',
    kernel: 'float_matvec',
    defines: {
      TEAM: team,
      WEIGHT: WEIGHT_CODES[weight.format.name] as number,
      ROWS: bucketOf(to.capacity(x)),
      PARAMETERS: products.map(parametersOf).join(''),
      SELECT_PRODUCT: products.map(chooseText).join(' '),
      EPILOGUE: `switch (product) { ${products.map(epilogueText).join(' ')} }`,
    },
    grid: [blocks],
    block: THREADS,
    args: [to.count(x), ...products.flatMap((product, p) => argumentsOf(product, starts[p] as number, to))],
  });
}

function blocksOf({ weight }: MatmulOp, team: number): number {
  return Math.ceil(weight.rows / ((WARPS / team) * LINES));
}

/** Warps that share an output: a whole block if there would otherwise be too few blocks for the multiprocessors. */
function teamFor(products: readonly ChainedProduct[], to: Lowering): number {
  const blocks = products.reduce((sum, { op }) => sum + blocksOf(op, 1), 0);
  return blocks < to.target.multiprocessors ? WARPS : 1;
}

function withChain(product: ElementProduct, p: number): ChainedProduct {
  return { ...product, ...chainOf(product, `e${p}_`) };
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

function parametersOf({ op, operands }: ChainedProduct, p: number): string {
  const names = operands.map(({ name }) => `, const f32* ${name}`).join('');
  const sizes = `, i32 outputs${p}, i32 columns${p}, i32 start${p}`;
  return `, const f32* x${p}, const u8* w${p}, f32* y${p}${sizes}${op.bias ? `, const f32* bias${p}` : ''}${names}`;
}

function argumentsOf({ op, operands, out }: ChainedProduct, start: number, to: Lowering): Operand[] {
  const { rows, columns } = op.weight;
  const sizes = [int(rows), int(columns), int(start)];
  const bias = op.bias ? [to.weight([op.bias], FLOAT_LAYOUT)] : [];
  return [op.x, to.weight([op.weight], FILE_LAYOUT), out, ...sizes, ...bias, ...operandArgs(operands, to)];
}

function chooseText(_: ChainedProduct, p: number): string {
  const found = [
    `product = ${p}`,
    `x = x${p}`,
    `weight = w${p}`,
    `outputs = outputs${p}`,
    `columns = columns${p}`,
    `first_block = start${p}`,
  ];
  return `if (block >= start${p}) { ${found.join('; ')}; }`;
}

function epilogueText({ op, text }: ChainedProduct, p: number): string {
  const biased = op.bias ? `value += bias${p}[n]; ` : '';
  return `case ${p}: ${biased}y${p}[at] = ${text}; break;`;
}
