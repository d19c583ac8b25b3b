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
    const { width, axis, type } = tensor;
    const used = axis === 'outputs' ? outputs : rows;
    if (used === 0) continue;
    const found = type === 'i32' ? new Int32Array(used * width) : new Float32Array(used * width);
    await stream.download({ ...range, byteLength: found.byteLength }, asBytes(found));
    const values = found instanceof Float32Array ? found : Float32Array.from(found);
    const replaced = taps.get(name)?.({ name, rows: used, width, values });
    if (!replaced) continue;
    if (replaced.length !== used * width) {
      const given = `${replaced.length} values for ${name}`;
      fail('INVALID_ARGUMENT', { name: 'tap', found: given, expected: `${used} x ${width}` });
    }
    const stored = type === 'i32' ? Int32Array.from(replaced) : replaced;
    stream.upload(asBytes(stored), { ...range, byteLength: stored.byteLength });
    // The caller may change what it returned.
    await stream.synchronize();
  }
}
