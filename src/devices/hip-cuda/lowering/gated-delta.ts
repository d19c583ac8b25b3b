import type { FusedGatedDeltaIntent, RowPart } from '../../../device/index.ts';
import type { GatedDeltaOp, Tensor } from '../../../ops/index.ts';
import type { Operand } from './launch-plan.ts';
import { float, int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { chunkFor, type RecurrenceChunk, shortRowsOf } from './recurrence-chunks.ts';
import { slotBlocks } from './slot-blocks.ts';
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
  const { decay, heads, keySize, valueSize, out } = op;
  const bytes = (of: RecurrenceChunk) => chunkBytes(of, keySize);
  // Decays of channels are not chunked.
  const isChunked = decay.width === heads;
  const chunk = isChunked ? chunkFor({ out, lineSize: keySize, lines: valueSize, bytes }, to) : undefined;
  const shortRows = shortRowsOf(chunk, to);
  if (!chunk || shortRows > 0) launchSteps(op, { ...sources, shortRows }, to);
  if (chunk) launchChunks(op, { ...sources, shortRows, chunk }, to);
}

/** Bytes of `Shared` of `gated-delta-chunks.hip`. */
function chunkBytes({ rows, slice }: RecurrenceChunk, keySize: number): number {
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

function launchChunks(
  op: GatedDeltaOp,
  of: RuleLaunch & { readonly chunk: RecurrenceChunk },
  to: Lowering,
): void {
  const { state, heads, keySize, valueSize, out } = op;
  const blocks = slotBlocks(op, to);
  const { rows, slice } = of.chunk;
  to.launch({
    file: 'gated-delta-chunks.hip',
    kernel: 'gated_delta_chunks',
    defines: { ...definesOf(op, of), ...blocks.defines, CHUNK: rows, SLICE: slice },
    grid: [heads * (valueSize / slice), blocks.count],
    block: 4 * rows,
    sharedBytes: chunkBytes(of.chunk, keySize),
    args: [...blocks.args, state, out, ...of.args],
  });
}

/** Row after row. */
function launchSteps(op: GatedDeltaOp, of: RuleLaunch, to: Lowering): void {
  const { state, heads, keySize, valueSize, out } = op;
  const blocks = slotBlocks(op, to);
  const { split, lines, chunk } = linesOf('gatedDelta', keySize, to);
  to.launch({
    file: 'gated-delta.hip',
    kernel: 'gated_delta',
    defines: { ...definesOf(op, of), ...blocks.defines, SPLIT: split, CHUNK: chunk },
    grid: [heads * Math.ceil(valueSize / lines), blocks.count],
    block: THREADS,
    args: [...blocks.args, state, out, ...of.args],
  });
}
