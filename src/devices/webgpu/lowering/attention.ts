import { fail } from '../../../base/errors.ts';
import { type AttentionIntent, headGroups } from '../../../device/index.ts';
import {
  type AttentionOp,
  type BatchTensors,
  decodesApart,
  hasOwnTable,
  isBlockType,
  type KvAppendOp,
  type PagedCache,
  SCORE_NAMES,
  SCORE_PARAMETERS,
  type State,
  stateBlockPlanes,
  tableWidth,
  valueStride,
} from '../../../ops/index.ts';
import {
  type AttentionCounts,
  attentionText,
  EMIT_FLOATS,
  EMIT_QUANTIZED,
  EMIT_PARTIAL,
  MERGE_PARTITIONS,
} from '../kernels/attention.ts';
import { scoreText } from '../kernels/library/attention-scores.ts';
import { loopFor } from '../kernels/library/loop.ts';
import { FUNCTIONS } from '../kernels/library/functions.ts';
import { GRID } from '../kernels/library/grid.ts';
import {
  type CacheForm,
  cacheTexts,
  PAGED_CACHE,
  storeTexts,
  attentionUnitTexts,
} from '../kernels/library/paged-cache.ts';
import type { CellType } from '../kernels/library/cache-types.ts';
import { QUANTIZE_TEAM } from '../kernels/library/quantize.ts';
import { reduceText } from '../kernels/library/reduce.ts';
import { kvAppendBlocksText, kvAppendText } from '../kernels/rows.ts';
import type { Constant } from '../launching/kernel-module.ts';
import { lineGrid } from './line-grid.ts';
import { type Argument, read, write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';
import { quantizedScalesAt } from './staging.ts';

const THREADS = 128;

/** Elements per word of a cache. Throws `OP_UNSUPPORTED` for an odd number of f16. */
export function cacheUnit({ keys, values }: PagedCache, ...sizes: readonly number[]): 1 | 2 | 4 {
  if (keys.type === 'q8_0' || decodesApart({ keys, values })) return 4;
  if (keys.type === 'f32') return 1;
  const odd = [keys.width, values?.width ?? 0, ...sizes].find((size) => size % 2 !== 0);
  if (odd !== undefined) {
    const why = `f16 caches hold elements in pairs, and ${odd} is odd`;
    fail('OP_UNSUPPORTED', { device: 'webgpu', op: keys.name, why });
  }
  return 2;
}

function cellType({ type }: State): CellType {
  return type === 'i32' ? 'f32' : type;
}

/** How a cache's elements are stored, and where kernels find values. */
export function cacheForm({ keys, values }: PagedCache): CacheForm {
  const [keyType, valueType] = [cellType(keys), cellType(values ?? keys)];
  const isOne = keyType !== 'q4_0' && keyType !== 'q5_1' && keyType === valueType;
  return { type: isOne ? keyType : 'apart', keyType, valueType, values: values ? 'values' : 'keys' };
}

/** Offsets of the scales in caches of blocks, in words. */
export function scaleConstants({ keys, values }: PagedCache): Readonly<Record<string, number>> {
  const at = (name: string, state: State | undefined) =>
    state && isBlockType(state.type)
      ? { [`${name}_SCALES_AT`]: stateBlockPlanes(state.type, state.rows, state.width).scales / 4 }
      : {};
  return { ...at('KEYS', keys), ...at('VALUES', values) };
}

/** Keys, and values where they have a binding of their own, to be read. */
export function cacheArguments(
  { keys, values }: PagedCache,
  type: string,
): Readonly<Record<string, Argument>> {
  return { keys: read(keys, type), ...(values && { values: read(values, type) }) };
}

/** The arguments of `cell_of`. */
export function cellArguments(
  cache: PagedCache,
  batch: Pick<BatchTensors, 'slots' | 'positions' | 'blocks'>,
  to: Lowering,
) {
  return {
    args: {
      slots: to.index(batch.slots),
      positions: to.index(batch.positions),
      blocks: read(batch.blocks, 'array<i32>'),
    },
    constants: {
      BLOCKS_PER_SLOT: tableWidth(batch),
      BLOCK_SIZE: cache.blockSize,
      ...scaleConstants(cache),
    },
  };
}

/** How the elements of rows are appended: one word per thread or, in blocks, one element. */
function appendTexts({ k, v, cache }: KvAppendOp) {
  const { type, keyType, valueType } = cacheForm(cache);
  const rows = { keys: 'k', values: v && (k === v ? 'k' : 'v') };
  const valueWidth = v?.width ?? 0;
  if (type === 'q8_0' || type === 'apart') {
    return {
      texts: [kvAppendBlocksText(rows), ...storeTexts({ keys: keyType, values: v && valueType })],
      constants: { KEY_WIDTH: k.width, VALUE_WIDTH: valueWidth },
      rowThreads: k.width + valueWidth,
    };
  }
  const unit = cacheUnit(cache);
  return {
    texts: [kvAppendText(rows), ...cacheTexts(type)],
    constants: { KEY_WORDS: k.width / unit, VALUE_WORDS: valueWidth / unit },
    rowThreads: (k.width + valueWidth) / unit,
  };
}

export function lowerKvAppend(op: KvAppendOp, to: Lowering): void {
  const { k, v, cache, batch } = op;
  const cells = cellArguments(cache, batch, to);
  const { threads } = to.target;
  const append = appendTexts(op);
  to.launch({
    name: 'kv_append',
    texts: [GRID, PAGED_CACHE, ...append.texts],
    constants: { THREADS: threads, ...append.constants, ...cells.constants },
    args: {
      counts: to.counts,
      ...cells.args,
      k: read(k),
      ...(!v || k === v ? {} : { v: read(v) }),
      keys: written(cache.keys, cache),
      ...(cache.values && { values: written(cache.values, cache) }),
    },
    grid: lineGrid(to, Math.ceil((to.capacity(k) * append.rowThreads) / threads)),
  });
}

/** True if 32 elements are stored at once. */
function isInBlocks(cache: PagedCache): boolean {
  const { type } = cacheForm(cache);
  return type === 'q8_0' || type === 'apart';
}

/** Keys or values to be appended to; blocks' scales share words. */
export function written(state: State, cache: PagedCache): Argument {
  return write(state, isInBlocks(cache) ? 'array<atomic<u32>>' : 'array<u32>');
}

/** The parameters of the scores for `scoreText`: `SOFT_CAP` and so on, and a binding for each weight. */
export function scoreParts(op: AttentionOp, to: Lowering) {
  const constants: Record<string, Constant> = {};
  const args: Record<string, Argument> = {};
  for (const name of SCORE_NAMES) {
    const value = op[name] ?? 0;
    const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (typeof value === 'object') args[snake] = to.vector(value, FLOAT_LAYOUT);
    else if (SCORE_PARAMETERS[name] === 'f32') constants[snake.toUpperCase()] = { f32: value };
    else constants[snake.toUpperCase()] = value;
  }
  return { constants, args, texts: [scoreText(op), FUNCTIONS] };
}

/** Query heads of one key head that a workgroup computes. */
export const HEADS_AT_ONCE = 4;

/** Halves in a vector; longer heads would take more registers for them than there are. */
const OCTET = 8;
const MAX_OCTET_SIZE = 256;

/** Whether a cache is read eight halves at once. */
function readsOctets(op: AttentionOp): boolean {
  const { cache, keySize, valueSize } = op;
  const whole = [keySize, valueSize, valueStride(op), cache.keys.width].every((size) => size % OCTET === 0);
  return cacheForm(cache).type === 'f16' && whole && Math.max(keySize, valueSize) <= MAX_OCTET_SIZE;
}

/** Positions whose scores are computed together. */
const POSITIONS = 32;
/** Threads that compute the score of one. */
const SCORE_THREADS = 4;

/** How a workgroup's work is divided: constants, and counts of loops. */
function divide(op: AttentionOp): {
  readonly constants: ReturnType<typeof attentionConstants>;
  readonly counts: AttentionCounts;
} {
  const { cache, keySize, valueSize } = op;
  const unit = readsOctets(op) ? OCTET : cacheUnit(cache, keySize, valueSize);
  const constants = attentionConstants(op, unit);
  return {
    constants,
    counts: {
      heads: constants.HEADS,
      keyUnits: Math.ceil(keySize / unit / SCORE_THREADS),
      valueUnits: constants.OWN_WORDS,
      valuePositions: Math.max(1, POSITIONS / constants.SLICES),
    },
  };
}

function attentionConstants(op: AttentionOp, unit: number) {
  const { keySize, valueSize, heads, kvHeads } = op;
  const words = Math.ceil(valueSize / unit);
  const sliceThreads = Math.min(THREADS, 2 ** Math.ceil(Math.log2(words)));
  const group = heads / kvHeads;
  const together = Math.min(group, HEADS_AT_ONCE);
  return {
    KEY: keySize,
    VALUE: valueSize,
    VALUE_STRIDE: valueStride(op),
    GROUP: group,
    HEADS: together,
    HEAD_GROUPS: Math.ceil(group / together),
    TOTAL_HEADS: heads,
    KV_HEADS: kvHeads,
    ...(hasOwnTable(op) && { PLACES: op.batch.slots.width }),
    SLICE_THREADS: sliceThreads,
    SLICES: THREADS / sliceThreads,
    KEPT: Math.max(1, THREADS / sliceThreads / 2),
    OWN_WORDS: Math.ceil(words / sliceThreads),
  };
}

function emission({ op, form, y }: AttentionIntent, to: Lowering) {
  if (form !== 'q8') return { texts: [EMIT_FLOATS], constants: {}, y: write(y) };
  return {
    texts: [EMIT_QUANTIZED, QUANTIZE_TEAM],
    constants: { Y_SCALES_AT: quantizedScalesAt(to.capacity(op.out), op.out.width) },
    y: write(y, 'array<u32>'),
  };
}

/** Attention row by row, and the reduction of the context's partitions. */
export function emitAttention(of: AttentionIntent, to: Lowering): void {
  const { op, partitions } = of;
  const { cache, batch, heads, out } = op;
  const capacity = to.capacity(out);
  const scores = scoreParts(op, to);
  const divided = divide(op);
  const common = { THREADS, COUNT: to.countOf(out), PARTITIONS: partitions, ...divided.constants };
  const constants = { ...common, ...scores.constants };
  const cells = cellArguments(cache, { ...batch, positions: op.causalLimit }, to);
  const emit = emission(of, to);
  const teams = reduceText(to.target, { team: 32, threads: THREADS });
  const partials = to.temporary(4 * capacity * heads * partitions * (op.valueSize + 2));
  to.launch({
    name: 'attention',
    texts: [
      attentionText(op, divided.counts, loopFor(to.target)),
      ...scores.texts,
      PAGED_CACHE,
      ...attentionUnitTexts(cacheForm(cache), readsOctets(op)),
      teams,
      reduceText(to.target, { team: 4, threads: THREADS, name: 'four' }),
      ...(partitions > 1 ? [EMIT_PARTIAL] : emit.texts),
    ],
    constants: { ...constants, ...cells.constants, ...(partitions > 1 ? {} : emit.constants) },
    args: {
      counts: to.counts,
      ...cells.args,
      ...(op.positions && { own_positions: to.index(op.positions) }),
      ...scores.args,
      q: read(op.q),
      ...cacheArguments(cache, readsOctets(op) ? 'array<vec4<u32>>' : 'array<u32>'),
      y: partitions > 1 ? write(partials) : emit.y,
    },
    grid: [capacity, headGroups(op, HEADS_AT_ONCE), partitions],
  });
  if (partitions === 1) return;
  to.launch({
    name: 'merge_attention',
    texts: [MERGE_PARTITIONS, ...scores.texts, teams, ...emit.texts],
    constants: { ...constants, ...emit.constants },
    args: { counts: to.counts, ...scores.args, partials: read(partials), y: emit.y },
    grid: [capacity, Math.ceil((heads * op.valueSize) / THREADS)],
  });
}
