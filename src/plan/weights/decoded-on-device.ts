import type { PlannedWeight } from '../parts/part-plan.ts';
import type { PlanSetup } from '../parts/plan-setup.ts';

/** Keys of the weights that do not stay as in the file and that the device decodes, readied for that. */
export async function decodedOnDevice(
  { device, decode }: PlanSetup,
  parts: readonly (readonly PlannedWeight[])[],
): Promise<ReadonlySet<string>> {
  const keys = new Set<string>();
  if (decode === 'host' || !device.readyToDecode) return keys;
  for (const { key, packed, tensors } of parts.flat()) {
    const ready: boolean[] = [];
    for (const [part, { format }] of tensors.entries()) {
      if (format === packed.parts[part]?.format) continue;
      ready.push(await device.readyToDecode(packed, part, format));
    }
    if (ready.length > 0 && ready.every(Boolean)) keys.add(key);
  }
  return keys;
}
