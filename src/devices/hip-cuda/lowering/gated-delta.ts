import type { FusedGatedDeltaIntent, RowPart } from '../../../device/index.ts';
import type { GatedDeltaOp, Tensor } from '../../../ops/index.ts';
import type { Operand } from './launch-plan.ts';
import { float, int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { linesOf, THREADS } from './state-space.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

/** What the kernels read, in `gated-delta.h`'s order, and whether decays and betas are made of it. */
interface DeltaSources {
  readonly hasRates: boolean;
  readonly args: readonly Operand[];
}

/** How a launch takes the rows of slots: those with fewer than `shortRows` together are not chunked. */
interface RuleLaunch extends DeltaSources {
  readonly shortRows: number;
}

/** Rows of a chunk, and rows of a head's matrix that a block takes. */
interface Chunk {
  readonly rows: number;
  readonly slice: number;
}

/** The chunks for which `gated-delta-chunks.hip` is compiled, best first: the smaller one fits in 64 KiB. */
const CHUNKS: readonly Chunk[] = [
  { rows: 64, slice: 32 },
  { rows: 32, slice: 16 },
];
/** With fewer rows in a step or per sequence, chunks would be mostly empty. */
const MIN_CHUNKED_ROWS = 32;
const MIN_CHUNKED_ROWS_PER_SLOT = 4;
/** Rows of a sequence that take as long one after another as a chunk does. */
const SHORT_ROWS = 8;

/** The rule by itself: each operand is a tensor of its own. */
export function lowerGatedDelta(op: GatedDeltaOp, to: Lowering): void {
  const whole = (of: Tensor): RowPart => ({ of, offset: 0 });
  const { q, k, v, decay, beta } = op;
  launch(op, { hasRates: false, args: argsOf(op, [q, k, v].map(whole), [decay, beta, NULL, NULL]) }, to);
}

/** The rule with what makes its operands. */
export function emitFusedGatedDelta({ op, of }: FusedGatedDeltaIntent, to: Lowering): void {
  const { q, k, v, alpha, beta, bias, factor } = of;
  const vectors = [bias, factor].map((weight) => to.weight([weight], FLOAT_LAYOUT));
  launch(op, { hasRates: true, args: argsOf(op, [q, k, v], [alpha, beta, ...vectors]) }, to);
}

function argsOf(op: GatedDeltaOp, parts: readonly RowPart[], rates: readonly Operand[]): readonly Operand[] {
  return [
    ...parts.map(({ of }) => of),
    ...rates,
    ...parts.flatMap(({ of, offset }) => [int(of.width), int(offset)]),
    int(op.heads),
    int(op.keyHeads),
    float(op.lengthEpsilon),
    float(op.scale),
  ];
}

/** Chunks of the sequences that have many rows in the step, and the others' row after row. */
function launch(op: GatedDeltaOp, sources: DeltaSources, to: Lowering): void {
  const chunk = chunkFor(op, to);
  const shortRows = chunk && to.graph.shape.slots > 1 ? SHORT_ROWS : 0;
  if (!chunk || shortRows > 0) launchSteps(op, { ...sources, shortRows }, to);
  if (chunk) launchChunks(op, { ...sources, shortRows, chunk }, to);
}

/** The largest chunk that fits on the target, if the step has rows for chunks. */
function chunkFor({ decay, heads, keySize, valueSize, out }: GatedDeltaOp, to: Lowering): Chunk | undefined {
  const rows = to.capacity(out);
  const few = rows < MIN_CHUNKED_ROWS || rows < MIN_CHUNKED_ROWS_PER_SLOT * to.graph.shape.slots;
  if (few || decay.width !== heads) return undefined;
  return CHUNKS.find(
    (chunk) =>
      keySize % columnUnit(chunk) === 0 &&
      valueSize % chunk.slice === 0 &&
      chunkBytes(chunk, keySize) <= to.target.sharedBytesOptIn,
  );
}

/** Key channels are whole lanes of a warp, and whole tiles of eight columns for each of a block's warps. */
function columnUnit({ rows }: Chunk): number {
  return Math.max(32, rows);
}

/** Bytes of `Shared` of `gated-delta-chunks.hip`. */
function chunkBytes({ rows, slice }: Chunk, keySize: number): number {
  const lines = (2 * rows + slice) * (keySize + 4);
  const pairs = 2 * rows * (rows + 4) + rows * 20;
  return 4 * (lines + pairs + rows * (slice + 8) + 5 * rows);
}

function definesOf({ decay, heads, keySize, valueSize, keyOrder }: GatedDeltaOp, of: RuleLaunch) {
  return {
    KEY_SIZE: keySize,
    VALUE_SIZE: valueSize,
    DECAYS: decay.width / heads,
    KEY_HEADS_TILED: keyOrder === 'tiled' ? 1 : 0,
    RATES: of.hasRates ? 1 : 0,
    SHORT_ROWS: of.shortRows,
  };
}

function launchChunks(op: GatedDeltaOp, of: RuleLaunch & { readonly chunk: Chunk }, to: Lowering): void {
  const { state, batch, heads, keySize, valueSize, out } = op;
  const { rows, slice } = of.chunk;
  to.launch({
    file: 'gated-delta-chunks.hip',
    kernel: 'gated_delta_chunks',
    defines: { ...definesOf(op, of), CHUNK: rows, SLICE: slice },
    grid: [heads * (valueSize / slice), to.graph.shape.slots],
    block: 4 * rows,
    sharedBytes: chunkBytes(of.chunk, keySize),
    args: [to.count(out), batch.slots, batch.positions, state, out, ...of.args],
  });
}

/** Row after row. */
function launchSteps(op: GatedDeltaOp, of: RuleLaunch, to: Lowering): void {
  const { state, batch, heads, keySize, valueSize, out } = op;
  const { split, lines, chunk } = linesOf('gatedDelta', keySize, to);
  to.launch({
    file: 'gated-delta.hip',
    kernel: 'gated_delta',
    defines: { ...definesOf(op, of), SPLIT: split, CHUNK: chunk },
    grid: [heads * Math.ceil(valueSize / lines), to.graph.shape.slots],
    block: THREADS,
    args: [to.count(out), batch.slots, batch.positions, state, out, ...of.args],
  });
}
