import type { MatmulOp } from '../../../ops/index.ts';
import type { ElementChain } from './element-chain.ts';
import type { Operand } from './launch-plan.ts';
import { int } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { MATVEC_ROWS, rowBucket } from './matvec-shape.ts';
import { FILE_LAYOUT, FLOAT_LAYOUT } from './weight-layout.ts';

const THREADS = 256;
const WARPS = 8;
/** Outputs that a team of warps takes at a time. */
const LINES = 1;

/** The numbers that `float-matvec.hip` knows formats by. */
const WEIGHT_CODES: Readonly<Record<string, number>> = { F32: 0, F16: 1, BF16: 2 };

/** Elements that rows come in multiples of, so that they begin at whole vectors. */
const ROW_UNIT = 8;

/** A product and what becomes of its elements. */
export interface FloatProduct {
  readonly op: MatmulOp;
  readonly chain: ElementChain;
}

/** True for products of few rows by weights that are numbers. */
export function isFloatMatvec({ x, weight }: MatmulOp, to: Lowering): boolean {
  const few = to.capacity(x) <= MATVEC_ROWS;
  return few && weight.format.name in WEIGHT_CODES && weight.columns % ROW_UNIT === 0;
}

/** One launch for products of one format over the same rows. */
export function launchFloatMatvec(to: Lowering, products: readonly FloatProduct[]): void {
  const [first] = products as [FloatProduct];
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
      ROWS: rowBucket(to.capacity(x)),
      PARAMETERS: products.map(parametersOf).join(''),
      CHOOSE: products.map(chooseText).join(' '),
      FINISH: `switch (product) { ${products.map(finishText).join(' ')} }`,
    },
    grid: [blocks],
    block: THREADS,
    args: [to.count(x), ...products.flatMap((product, p) => argumentsOf(product, starts[p] as number, to))],
  });
}

function blocksOf({ weight }: MatmulOp, team: number): number {
  return Math.ceil(weight.rows / ((WARPS / team) * LINES));
}

/** Warps that share an output: all of a block where there would be too few blocks for the processors. */
function teamFor(products: readonly FloatProduct[], to: Lowering): number {
  const blocks = products.reduce((sum, { op }) => sum + blocksOf(op, 1), 0);
  return blocks < to.target.multiprocessors ? WARPS : 1;
}

function parametersOf({ op, chain }: FloatProduct, p: number): string {
  const operands = chain.operands.map(({ name }) => `, const f32* ${name}`).join('');
  const sizes = `, i32 outputs${p}, i32 columns${p}, i32 start${p}`;
  return `, const f32* x${p}, const u8* w${p}, f32* y${p}${sizes}${op.bias ? `, const f32* bias${p}` : ''}${operands}`;
}

function argumentsOf({ op, chain }: FloatProduct, start: number, to: Lowering): Operand[] {
  const { rows, columns } = op.weight;
  const sizes = [int(rows), int(columns), int(start)];
  const bias = op.bias ? [to.weight([op.bias], FLOAT_LAYOUT)] : [];
  return [op.x, to.weight([op.weight], FILE_LAYOUT), chain.out, ...sizes, ...bias, ...chain.args(to)];
}

function chooseText(_: FloatProduct, p: number): string {
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

function finishText({ op, chain }: FloatProduct, p: number): string {
  const biased = op.bias ? `value += bias${p}[n]; ` : '';
  return `case ${p}: ${biased}y${p}[at] = ${chain.text}; break;`;
}
