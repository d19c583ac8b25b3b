import { fail } from '../base/errors.ts';
import type { GgufPlan } from './gguf-layout.ts';
import type { GgufValue } from './gguf-value.ts';
import { splitSuffix } from './split.ts';

/** One file of a split model: its name and contents. */
export interface SplitPlan {
  readonly name: string;
  readonly plan: GgufPlan;
}

/**
 * Splits a plan into files of at most `maxTensors` tensors, named `base-00001-of-00003.gguf`. The first holds the
 * metadata, the others only the split keys and the alignment.
 */
export function planSplits(plan: GgufPlan, base: string, maxTensors: number): SplitPlan[] {
  if (!Number.isInteger(maxTensors) || maxTensors < 1) {
    fail('INVALID_ARGUMENT', { name: 'maxTensors', found: `${maxTensors}`, expected: 'at least 1' });
  }
  const metadata = [...plan.metadata];
  const count = Math.max(1, Math.ceil(plan.tensors.length / maxTensors));
  if (count > 0xffff) {
    fail('INVALID_ARGUMENT', { name: 'number of parts', found: `${count}`, expected: 'at most 65535' });
  }
  const alignment = metadata.filter(([key]) => key === 'general.alignment');
  return Array.from({ length: count }, (_, index) => {
    const ties: [string, GgufValue][] = [
      ['split.no', { type: 'u16', value: index }],
      ['split.count', { type: 'u16', value: count }],
      ['split.tensors.count', { type: 'i32', value: plan.tensors.length }],
    ];
    const own = (index === 0 ? metadata : alignment).filter(([key]) => !key.startsWith('split.'));
    return {
      name: `${base}${splitSuffix(index, count)}.gguf`,
      plan: {
        ...plan,
        metadata: [...own, ...ties],
        tensors: plan.tensors.slice(index * maxTensors, (index + 1) * maxTensors),
      },
    };
  });
}
