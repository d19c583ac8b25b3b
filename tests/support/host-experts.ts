import type { Device } from '../../src/device/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openAdapters } from '../../src/node/open-adapters.ts';
import { openGguf } from '../../src/node/open-gguf.ts';
import { deviceWith } from './device-with.ts';
import { familyPaths } from './family-fixtures.ts';

/** Rows of a prompt in one step. */
export const OPTIONS = { context: 128, batch: 8, logitRows: 8 } as const;

/** The reference device as one whose kernels reach the host's memory besides its own. */
export function reachingDevice(): Device {
  const device = openReferenceDevice();
  const createHostBuffer = (bytes: number, label: string) => device.createBuffer(bytes, label);
  return deviceWith(device, { createHostBuffer });
}

/** The small random model of a family, on such a device; adapters can be loaded into it if `maxAdapters` says so. */
export async function openOnHost(
  name: string,
  options: ModelOptions & { readonly maxAdapters?: number; readonly maxAdapterRank?: number } = {},
  device: Device = reachingDevice(),
): Promise<LanguageModel> {
  const gguf = await openGguf(familyPaths({ name, sizes: {} }).model);
  try {
    const { maxAdapters, maxAdapterRank, ...own } = options;
    const adapters = await openAdapters(gguf, { maxAdapters, maxAdapterRank });
    const openFile = (location: string) => openGguf(location);
    const parts = { gguf, device, ...adapters, openFile, architectures: ALL_ARCHITECTURES };
    return await LanguageModel.open(parts, { ...OPTIONS, ...own });
  } catch (error) {
    await device[Symbol.asyncDispose]();
    await gguf[Symbol.asyncDispose]();
    throw error;
  }
}

/** Greedy ids of single tokens behind a few others. */
export async function say(
  model: LanguageModel,
  maxTokens: number,
  start: readonly number[] = [5, 3],
): Promise<number[]> {
  const ids: number[] = [];
  const said = model.generate(start, { temperature: 0, maxTokens, ignoreEnd: true });
  for await (const { token } of said) if (token) ids.push(token.id);
  return ids;
}
