import { fail } from '../../../base/errors.ts';
import {
  type AttentionOp,
  type BatchTensors,
  type KvAppendOp,
  type PagedCache,
  STATE_BLOCK,
  type State,
  type Tensor,
} from '../../../ops/index.ts';
import { attentionScratchBytes } from '../kernel-exports.ts';
import type { Lowering } from './lowering.ts';
import type { CacheShape } from '../protocol/call-table.ts';
import { ATTENTION_SCRATCH_BYTES } from '../protocol/reserved.ts';

/** Values that the attention kernel takes at once. */
const LANES = 4;

export function lowerKvAppend(op: KvAppendOp, to: Lowering): void {
  appendTo(op.cache.keys, op.k, op, to);
  appendTo(op.cache.values, op.v, op, to);
}

/** Keys and values are appended apart, so that each stays in its own bank and follows its own producer. */
function appendTo(cache: State, x: Tensor, of: KvAppendOp, to: Lowering): void {
  const [source, target] = [to.tensor(x), to.state(cache)];
  const batch = indices(of.batch, to);
  to.emit({
    table: {
      kind: 'cacheAppend',
      at: { ...batch.at, x: source.id, cache: target.id },
      columns: x.width,
      shape: shapeOf(cache, of.cache, to),
    },
    axis: 'rows',
    locality: 'element',
    columnUnit: cache.type === 'q8_0' ? STATE_BLOCK : 1,
    local: [source],
    reads: batch.slots,
    scatters: [target],
  });
}

export function lowerAttention(op: AttentionOp, to: Lowering): void {
  const { keys, values } = op.cache;
  if (keys.type !== values.type) {
    const why = `its cache holds ${keys.type} keys and ${values.type} values`;
    fail('OP_UNSUPPORTED', { device: 'cpu', op: 'attention', why });
  }
  if (op.keySize % LANES !== 0 || op.valueSize % LANES !== 0) {
    const why = `its heads are ${op.keySize} and ${op.valueSize} wide, not multiples of ${LANES}`;
    fail('OP_UNSUPPORTED', { device: 'cpu', op: 'attention', why });
  }
  if (attentionScratchBytes(op.heads / op.kvHeads, op.keySize, op.valueSize) > ATTENTION_SCRATCH_BYTES) {
    const why = `${op.heads / op.kvHeads} heads of ${op.keySize} and ${op.valueSize} share a key head`;
    fail('OP_UNSUPPORTED', { device: 'cpu', op: 'attention', why });
  }
  const [q, out] = [to.tensor(op.q), to.tensor(op.out)];
  const [keyCache, valueCache] = [to.state(keys), to.state(values)];
  const batch = indices({ ...op.batch, positions: op.causalLimit }, to);
  to.emit({
    table: {
      kind: 'attention',
      at: { ...batch.at, q: q.id, keys: keyCache.id, values: valueCache.id, out: out.id },
      columns: op.out.width,
      heads: op.heads,
      kvHeads: op.kvHeads,
      keySize: op.keySize,
      valueSize: op.valueSize,
      scale: op.scale,
      window: op.window,
      softCap: op.softCap,
      shape: shapeOf(keys, op.cache, to),
    },
    axis: 'rows',
    locality: 'wide',
    columnUnit: (op.heads / op.kvHeads) * op.valueSize,
    columnBytes: Number.POSITIVE_INFINITY,
    reads: [q, keyCache, valueCache, ...batch.slots],
    writes: [out],
  });
}

function indices(batch: Pick<BatchTensors, 'slots' | 'positions' | 'blocks'>, to: Lowering) {
  const positions = to.tensor(batch.positions);
  const slots = to.tensor(batch.slots);
  const blocks = to.tensor(batch.blocks);
  return {
    at: { positions: positions.id, slots: slots.id, blocks: blocks.id },
    slots: [positions, slots, blocks],
  };
}

function shapeOf({ type, rows }: State, { blockSize }: PagedCache, to: Lowering): CacheShape {
  if (type === 'i32') {
    fail('OP_UNSUPPORTED', { device: 'cpu', op: 'attention', why: 'its cache holds integers' });
  }
  const { blocksPerSlot, slots: slotCount } = to.graph.shape;
  return { type, cells: rows, blockSize, blocksPerSlot, slotCount };
}
