import { alignUp } from '../base/bytes.ts';
import { fail } from '../base/errors.ts';
import { DEFAULT_ALIGNMENT, type GgufPlan, layoutOf, type PlannedTensor } from './gguf-layout.ts';
import type { GgufValue } from './gguf-value.ts';
import { splitSuffix } from './split.ts';

/** One file of a split model: its name and contents. */
export interface SplitPlan {
  readonly name: string;
  readonly plan: GgufPlan;
}

/** What ends a file of a split model: a number of tensors or of bytes. */
export interface SplitLimits {
  /** Tensors of a file. */
  readonly maxTensors?: number | undefined;
  /** Bytes of the tensors of a file; a larger tensor gets a file of its own. */
  readonly maxBytes?: number | undefined;
  /** Whether the first file has the metadata alone. Default false. */
  readonly metadataFirst?: boolean | undefined;
}

/**
 * Splits a plan into files named `base-00001-of-00003.gguf`, like llama.cpp's gguf-split. The first holds the metadata,
 * the others only the split keys and an alignment. Throws `INVALID_ARGUMENT`.
 */
export function planSplits(plan: GgufPlan, base: string, limits: SplitLimits): SplitPlan[] {
  const metadata = [...plan.metadata];
  const pieces = limits.metadataFirst ? [[], ...piecesOf(plan, limits)] : piecesOf(plan, limits);
  const count = pieces.length;
  if (count > 0xffff) {
    fail('INVALID_ARGUMENT', { name: 'number of parts', found: `${count}`, expected: 'at most 65535' });
  }
  const alignment = metadata.filter(([key]) => key === 'general.alignment');
  return pieces.map((tensors, index) => {
    const ties: [string, GgufValue][] = [
      ['split.no', { type: 'u16', value: index }],
      ['split.tensors.count', { type: 'i32', value: plan.tensors.length }],
      ['split.count', { type: 'u16', value: count }],
    ];
    const own = (index === 0 ? metadata : alignment).filter(([key]) => !key.startsWith('split.'));
    const name = `${base}${splitSuffix(index, count)}.gguf`;
    return { name, plan: { ...plan, metadata: [...own, ...ties], tensors } };
  });
}

/** The tensors of each file, at least one file. */
function piecesOf({ tensors }: GgufPlan, limits: SplitLimits): PlannedTensor[][] {
  const maxTensors = limitOf('maxTensors', limits.maxTensors);
  const maxBytes = limitOf('maxBytes', limits.maxBytes);
  const pieces: PlannedTensor[][] = [];
  let last: PlannedTensor[] = [];
  let bytes = 0;
  for (const { byteLength, name, format, shape } of layoutOf({ metadata: [], tensors }).tensors) {
    const padded = alignUp(byteLength, DEFAULT_ALIGNMENT);
    if (last.length > 0 && (last.length >= maxTensors || bytes + padded > maxBytes)) {
      pieces.push(last);
      [last, bytes] = [[], 0];
    }
    last.push({ name, format, shape });
    bytes += padded;
  }
  return [...pieces, last];
}

function limitOf(name: string, value = Number.POSITIVE_INFINITY): number {
  if (value >= 1 && (Number.isInteger(value) || value === Number.POSITIVE_INFINITY)) return value;
  return fail('INVALID_ARGUMENT', { name, found: `${value}`, expected: 'at least 1' });
}
