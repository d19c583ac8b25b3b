import {
  type Epilogue,
  MAX_GROUPED,
  type MatvecGroupIntent,
  type MatvecIntent,
  type ProductInput,
  q8Bytes,
} from '../../../device/index.ts';
import type { MatmulOp, Tensor, Weight } from '../../../ops/index.ts';
import { cacheDefines } from './attention.ts';
import { activationCode } from './elementwise.ts';
import { addendOf, outputsOf } from './epilogue.ts';
import { appendArgs } from './heads.ts';
import type { Operand } from './launch-plan.ts';
import { float, int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { bitsPerWeight, looksUpLevels, packedFile, TILE_LINES } from './packed-formats.ts';
import { bucketOf, canStage, STAGED_SLACK } from './staging.ts';
import { FLOAT_LAYOUT, GROUP_LAYOUT } from './weight-layout.ts';

/** Rows up to which a kernel is compiled for the length of its rows, where up to a third of its instructions find addresses. */
const FIXED_ROWS = 2;
const OUTPUTS_PER_BLOCK = 32;
/**
 * Of results that are stored as they are, from so many usual blocks for each place on: each block finds and quantizes the activations. Of
 * weights with more than so many bits, a lane takes two lines at a time, for which two blocks have registers.
 */
const LARGE_OUTPUTS = 64;
const LARGE_BLOCK = { outputs: 128, lines: 2, resident: 2 } as const;
const LARGE_BITS = 6;
const LARGE_ROUNDS = 1.8;
/** Used if full blocks would be too few for the multiprocessors. */
const OUTPUTS_PER_SMALL_BLOCK = 16;
/**
 * Lines that a lane multiplies at a time, so that it reads activations once for all of them: two of more rows, and of few where a block has
 * two tiles and its kernel few registers: what is added to a residual, and heads of these formats.
 */
const ROWS_OF_ONE_LINE = 2;
const TWO_LINES = 2 * TILE_LINES;
const TWO_LINE_HEADS = new Set(['Q4_K']);
/** Formats whose kernels for one row do with the registers that four blocks leave each, or spill few, but those that append to a cache. */
const SMALL_KERNELS = new Set(['Q4_K', 'Q6_K', 'Q4_0']);
/** Of these, the ones that append in no more registers, and whose kernels for two rows spill little. */
const SMALL_HEADS = new Set(['Q4_K', 'Q6_K']);
/** Outputs of blocks that are to fill the multiprocessors; of so many blocks for each, and small ones not in a second round. */
const OUTPUTS_OF_FULL_BLOCKS = [32, 16, 8];
const FULL_BLOCKS = 2;
const FULL_RESIDENT = 4;
/** The codes in `matvec.hip` for results that are stored, and for several products. */
const STORED = 0;
const GROUP_CODE = 5;
const THREADS = 256;

/** The code in `matvec.hip` for the use of the sums. */
function outputCode(epilogue: Epilogue): number {
  if (epilogue.kind === 'gated') return epilogue.form === 'q8' ? 3 : 2;
  return { store: STORED, residual: 1, heads: 4 }[epilogue.kind];
}

/** The kernels' code for the source of their activations. */
export function inputCode(input: ProductInput): number {
  if (input.form !== 'f32') return 0;
  return input.norm ? 2 : 1;
}

/** The weight and the epsilon of the norm that a kernel applies first. */
export function normArgs(input: ProductInput, to: Lowering): [Operand, Operand] {
  if (input.form !== 'f32' || !input.norm) return [NULL, float(0)];
  const { weight, epsilon } = input.norm;
  return [to.weight([weight], FLOAT_LAYOUT), float(epsilon)];
}

/** What all launches of `matvec.hip` have in common, whatever becomes of their sums. */
function inputPlan({ of, x, first }: { of: Tensor; x: ProductInput; first: Weight }, to: Lowering) {
  const capacity = to.capacity(of);
  const rows = bucketOf(capacity);
  const staged = canStage(to.target, capacity, first.columns);
  const isFixed = to.target.vendor === 'nvidia' && capacity <= FIXED_ROWS;
  return {
    file: 'matvec.hip',
    kernel: 'matvec',
    defines: {
      PACKED_FORMAT: packedFile(first.format),
      ROWS: rows,
      INPUT: inputCode(x),
      STAGED: staged ? 1 : 0,
      GROUPS: isFixed ? first.columns / 32 : 0,
    },
    block: THREADS,
    sharedBytes: staged ? q8Bytes(rows, first.columns) + STAGED_SLACK : 0,
    args: [to.count(of), x.x, ...normArgs(x, to)],
    sizes: [int(first.columns / 32), int(capacity)],
  };
}

/** Lines that a lane multiplies at a time, of a product's blocks of so many outputs. */
function linesOf({ rows, weights, epilogue }: MatvecIntent, outputs: number, to: Lowering): number {
  if (bucketOf(to.capacity(rows)) > ROWS_OF_ONE_LINE) return 2;
  const [{ format }] = weights as [Weight];
  const canTakeTwo =
    epilogue.kind === 'residual' || (epilogue.kind === 'heads' && TWO_LINE_HEADS.has(format.name));
  return canTakeTwo && outputs === TWO_LINES ? 2 : 1;
}

/** Outputs of a block: fewer where large blocks would leave multiprocessors without one, as few as the warps take at once. */
function outputsPerBlock(
  { width, rows }: { readonly width: number; readonly rows: number },
  epilogue: Epilogue,
  to: Lowering,
): number {
  const { multiprocessors } = to.target;
  const least = rows <= ROWS_OF_ONE_LINE ? TILE_LINES : TWO_LINES;
  const isNarrow = Math.ceil(width / OUTPUTS_PER_BLOCK) < 2 * multiprocessors;
  if (epilogue.kind === 'gated') {
    // Gate and up are two lines.
    return epilogue.form === 'f32' && isNarrow ? least / 2 : OUTPUTS_PER_BLOCK;
  }
  if (storesBlocks(epilogue) || !isNarrow) return OUTPUTS_PER_BLOCK;
  const isScarce = Math.ceil(width / OUTPUTS_PER_SMALL_BLOCK) < multiprocessors;
  return isScarce ? least : OUTPUTS_PER_SMALL_BLOCK;
}

/** Whether outputs go to a cache of quantized blocks, each of which a warp's lanes hold. */
function storesBlocks(epilogue: Epilogue): boolean {
  if (epilogue.kind !== 'heads') return false;
  const { keys, values } = epilogue.of.heads.append.cache;
  return [keys, values].some(({ type }) => type !== 'f32' && type !== 'f16');
}

/** How the outputs of a product are divided among blocks. */
interface Division {
  /** Outputs of a block. */
  readonly outputs: number;
  /** Lines that a lane multiplies at a time. */
  readonly lines: number;
  /** Blocks that a multiprocessor should hold. */
  readonly resident: number;
}

/** Blocks that a multiprocessor holds of a kernel for one row or two, and of one for more. */
const USUAL_RESIDENT = 3;
const LEAST_RESIDENT = 2;

/** Of so many blocks, those that a multiprocessor holds where it has registers for `most`: no more than it gets. */
function residentOf(blocks: number, most: number, { target }: Lowering): number {
  if (target.vendor !== 'nvidia') return most;
  return Math.min(Math.max(Math.ceil(blocks / target.multiprocessors), LEAST_RESIDENT), most);
}

function usualResident(rows: number, blocks: number, to: Lowering): number {
  return rows > FIXED_ROWS ? LEAST_RESIDENT : residentOf(blocks, USUAL_RESIDENT, to);
}

function divisionFor(
  of: MatvecIntent,
  { width, output }: { readonly width: number; readonly output: number },
  to: Lowering,
): Division {
  const rows = bucketOf(to.capacity(of.rows));
  const outputs = outputsPerBlock({ width, rows }, of.epilogue, to);
  const resident = usualResident(rows, Math.ceil(width / outputs), to);
  const usual = { outputs, lines: linesOf(of, outputs, to), resident };
  const division = fullDivision(of, width, to) ?? usual;
  const places = division.resident * to.target.multiprocessors;
  const isLarge = width / OUTPUTS_PER_BLOCK >= LARGE_ROUNDS * places;
  const canBeLarge = to.target.vendor === 'nvidia' && rows <= FIXED_ROWS && output === STORED;
  if (!canBeLarge || !isLarge) return division;
  const [{ format }] = of.weights as [Weight];
  const isWide = bitsPerWeight(format) > LARGE_BITS && !looksUpLevels(format);
  return isWide ? LARGE_BLOCK : { ...division, outputs: LARGE_OUTPUTS };
}

/**
 * The largest blocks of which there are enough that multiprocessors hold up to four each, more than fit otherwise: so a product of one
 * row or two has no second round. Undefined if there are too few, if kernels need more registers, or for more rows.
 */
function fullDivision(of: MatvecIntent, width: number, to: Lowering): Division | undefined {
  const { rows, weights, epilogue } = of;
  const { vendor, multiprocessors } = to.target;
  const capacity = to.capacity(rows);
  const small = epilogue.kind === 'heads' || capacity > 1 ? SMALL_HEADS : SMALL_KERNELS;
  const [{ format }] = weights as [Weight];
  // What is added to a residual is narrow: two lines of a lane at a time are faster than more blocks.
  const can =
    vendor === 'nvidia' && capacity <= FIXED_ROWS && epilogue.kind !== 'residual' && small.has(format.name);
  if (!can) return undefined;
  const isWhole = epilogue.kind === 'gated' || storesBlocks(epilogue);
  const sizes = isWhole ? [OUTPUTS_PER_BLOCK] : OUTPUTS_OF_FULL_BLOCKS;
  const outputs = sizes.find((size) => {
    const blocks = width / size / multiprocessors;
    return blocks >= FULL_BLOCKS && (size === OUTPUTS_PER_BLOCK || blocks <= FULL_RESIDENT);
  });
  return outputs === undefined
    ? undefined
    : {
        outputs,
        lines: linesOf(of, outputs, to),
        resident: residentOf(Math.ceil(width / outputs), FULL_RESIDENT, to),
      };
}

/** A product of few rows by packed weights. */
export function emitMatvec(intent: MatvecIntent, to: Lowering): void {
  const { epilogue } = intent;
  launchMatvec(
    intent,
    {
      output: outputCode(epilogue),
      y: epilogue.kind === 'heads' ? epilogue.of.heads.attention.q : epilogue.y,
      args: epilogue.kind === 'heads' ? appendArgs(epilogue.of) : [],
    },
    to,
  );
}

/** What becomes of a product's sums. */
interface SumsUse {
  /** The code in `matvec.hip`, what it defines besides, and its own arguments. */
  readonly output: number;
  readonly defines?: Readonly<Record<string, number>>;
  readonly y: Operand;
  readonly args: readonly Operand[];
}

/** Launches the kernel of a product whose sums are used like this; its epilogue says what is added, and how wide it is. */
export function launchMatvec(intent: MatvecIntent, use: SumsUse, to: Lowering): void {
  const { rows: of, x, weights, epilogue } = intent;
  const [first] = weights as [Weight];
  const { defines, args, sizes, ...plan } = inputPlan({ of, x, first }, to);
  const width = outputsOf(weights, epilogue);
  const { outputs, lines, resident } = divisionFor(intent, { width, output: use.output }, to);
  to.launch({
    ...plan,
    defines: {
      ...defines,
      OUTPUTS: outputs,
      LINES: lines,
      RESIDENT: resident,
      OUTPUT: use.output,
      ACTIVATION: epilogue.kind === 'gated' ? activationCode(epilogue.fn) : 0,
      CACHE: 0,
      ...(epilogue.kind === 'heads' ? cacheDefines(epilogue.of.heads.append.cache) : {}),
      ...use.defines,
    },
    grid: [Math.ceil(width / outputs)],
    args: [
      ...args,
      to.weight(weights, GROUP_LAYOUT),
      int(width),
      ...sizes,
      addendOf(epilogue, to),
      use.y,
      ...use.args,
    ],
  });
}

/** Several products of the same few rows: their blocks follow one another. */
export function emitMatvecGroup({ x, products }: MatvecGroupIntent, to: Lowering): void {
  const [first, ...others] = products as [MatmulOp, ...MatmulOp[]];
  const { defines, args, sizes, ...plan } = inputPlan({ of: first.x, x, first: first.weight }, to);
  const rows = bucketOf(to.capacity(first.x));
  const blocksOf = (outputs: number) =>
    products.reduce((sum, { weight }) => sum + Math.ceil(weight.rows / outputs), 0);
  const isNarrow = blocksOf(OUTPUTS_PER_BLOCK) < 2 * to.target.multiprocessors;
  const outputs = isNarrow ? OUTPUTS_PER_SMALL_BLOCK : OUTPUTS_PER_BLOCK;
  const packed = ({ weight }: MatmulOp) => to.weight([weight], GROUP_LAYOUT);
  const more = others.flatMap((op) => [packed(op), op.out, int(op.weight.rows)]);
  const missing = Array.from({ length: MAX_GROUPED - products.length }, () => [NULL, NULL, int(0)]).flat();
  to.launch({
    ...plan,
    defines: {
      ...defines,
      OUTPUTS: outputs,
      LINES: rows > ROWS_OF_ONE_LINE ? 2 : 1,
      RESIDENT: usualResident(rows, blocksOf(outputs), to),
      OUTPUT: GROUP_CODE,
      ACTIVATION: 0,
      CACHE: 0,
    },
    grid: [blocksOf(outputs)],
    args: [...args, packed(first), int(first.weight.rows), ...sizes, NULL, first.out, ...more, ...missing],
  });
}
