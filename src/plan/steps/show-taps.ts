import { asBytes } from '../../base/bytes.ts';
import { fail } from '../../base/errors.ts';
import type { Stream } from '../../device/index.ts';
import type { StepInputs } from '../inputs/batch-inputs.ts';
import type { BatchPlan } from './batch-plan.ts';
import type { Taps } from '../taps/tap.ts';

/** Calls the tap handlers with the values of a part, and replaces values by what they return. Throws their errors. */
export async function showTaps(
  taps: Taps,
  on: { stream: Stream; batch: BatchPlan; part: number; input: StepInputs },
): Promise<void> {
  const { stream, batch, part, input } = on;
  const [rows = 0, outputs = 0] = input.view('counts');
  for (const { name, tensor, range } of batch.tapsOf(part)) {
    const { width, axis } = tensor;
    const used = axis === 'outputs' ? outputs : rows;
    if (used === 0) continue;
    const values = new Float32Array(used * width);
    await stream.download({ ...range, byteLength: values.byteLength }, asBytes(values));
    const replaced = taps.get(name)?.({ name, rows: used, width, values });
    if (!replaced) continue;
    if (replaced.length !== used * width) {
      const found = `${replaced.length} values for ${name}`;
      fail('INVALID_ARGUMENT', { name: 'tap', found, expected: `${used} x ${width}` });
    }
    stream.upload(asBytes(replaced), { ...range, byteLength: replaced.byteLength });
    // The caller may change what it returned.
    await stream.synchronize();
  }
}
