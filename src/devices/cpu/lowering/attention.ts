import { fail } from '../../../base/errors.ts';
import {
  type AttentionOp,
  isBlockType,
  type KvAppendOp,
  type OpKind,
  STATE_BLOCK,
  type State,
  type Tensor,
} from '../../../ops/index.ts';
import { attentionScratchBytes, headsTogether } from '../kernel-exports.ts';
import type { Lowering } from './lowering.ts';
import { ATTENTION_SCRATCH_BYTES } from '../protocol/reserved.ts';

/** Values that the attention kernel processes at once. */
const LANES = 4;

export function lowerKvAppend(op: KvAppendOp, to: Lowering): void {
  appendTo(op.cache.keys, op.k, op, to);
  if (op.cache.values && op.v) appendTo(op.cache.values, op.v, op, to);
}

/** Keys and values are appended separately, so that each stays in its own bank and follows its own producer. */
function appendTo(cache: State, x: Tensor, { batch, cache: { blockSize } }: KvAppendOp, to: Lowering): void {
  requireFloats(cache, 'kvAppend');
  to.emit(
    { kind: 'cacheAppend', x, cache, blockSize, batch },
    {
      locality: 'element',
      columns: x.width,
      columnUnit: isBlockType(cache.type) ? STATE_BLOCK : 1,
      local: [x],
      scatters: [cache],
    },
  );
}

function requireFloats({ type }: State, op: OpKind): void {
  if (type === 'i32') fail('OP_UNSUPPORTED', { device: 'cpu', op, why: 'its cache holds integers' });
}

export function lowerAttention(op: AttentionOp, to: Lowering): void {
  const { keys, values } = op.cache;
  requireFloats(keys, op.kind);
  if (values) requireFloats(values, op.kind);
  if (op.keySize % LANES !== 0 || op.valueSize % LANES !== 0) {
    const why = `its heads are ${op.keySize} and ${op.valueSize} wide, not multiples of ${LANES}`;
    fail('OP_UNSUPPORTED', { device: 'cpu', op: 'attention', why });
  }
  const together = headsTogether(op);
  if (attentionScratchBytes(together, op.keySize, op.valueSize) > ATTENTION_SCRATCH_BYTES) {
    const why = `heads are ${op.keySize} and ${op.valueSize} wide`;
    fail('OP_UNSUPPORTED', { device: 'cpu', op: 'attention', why });
  }
  to.emit(op, {
    locality: 'wide',
    columnUnit: together * op.valueSize,
    columnBytes: Number.POSITIVE_INFINITY,
  });
}
