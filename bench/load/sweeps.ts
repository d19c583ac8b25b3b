import type { Device } from '../../src/device/index.ts';
import { I8 } from '../../src/formats/index.ts';
import type { ByteSource } from '../../src/io/index.ts';
import { AsyncModelLoader, type LoaderOptions } from '../../src/load/async-model-loader.ts';
import { plainTensor } from '../../src/load/gguf-loader.ts';
import type { LazyTensor } from '../../src/load/lazy-tensor.ts';
import { measureLoad } from './measure-load.ts';

const MIB = 1 << 20;

/** The largest tensor to measure. */
const LARGEST_TENSOR = 1 << 30;

/** The options to vary, one at a time, with defaults for the others. */
const SWEEPS: { readonly [K in keyof LoaderOptions]?: readonly number[] } = {
  readers: [1, 2, 4, 8, 16],
  streams: [1, 2, 4, 8, 16],
  slots: [2, 4, 8, 16, 32],
  slotBytes: [MIB / 4, MIB, 2 * MIB, 4 * MIB, 8 * MIB, 16 * MIB],
};

/** Prints GB/s for each value of each option. */
export async function printSweeps(
  device: Device,
  weights: readonly LazyTensor[],
  options: LoaderOptions,
  rounds: number,
): Promise<void> {
  const threads = options.decoder ? powersUpTo(options.decoder.threads) : [];
  for (const [name, values] of Object.entries({ ...SWEEPS, threads })) {
    const cells: string[] = [];
    for (const value of values) {
      const { uploadedGigabytesPerSecond } = await measureLoad(
        device,
        weights,
        { ...options, [name]: value },
        rounds,
      );
      const shown = name === 'slotBytes' ? `${value / MIB} MiB` : value;
      cells.push(`${shown}: ${uploadedGigabytesPerSecond.toFixed(2)}`);
    }
    if (cells.length > 0) console.log(`${name.padEnd(10)} ${cells.join('   ')}`);
  }
}

/** Prints GB/s for tensors of each size, cut from the file, which is repeated if it is too short. */
export async function printTensorSizes(device: Device, file: ByteSource): Promise<void> {
  const cells: string[] = [];
  const source = repeated(file, LARGEST_TENSOR);
  for (let size = 4096; size <= LARGEST_TENSOR; size *= 4) {
    const shown = size < MIB ? `${size / 1024} KiB` : `${size / MIB} MiB`;
    if (size > device.memoryRules.largestBuffer || size > (await device.memory()).free) {
      cells.push(`${shown}: no room on the device`);
      continue;
    }
    const count = Math.max(1, Math.min(Math.floor((256 * MIB) / size), 4096));
    using target = device.createBuffer(size, 'tensor');
    const tensors = Array.from({ length: count }, (_, i) => {
      const tensor = {
        name: `${size} ${i}`,
        format: I8,
        shape: [size],
        elementCount: size,
        byteLength: size,
        offset: i * size,
        source,
      };
      return plainTensor(tensor, I8, { buffer: target, offset: 0, byteLength: size });
    });
    await using loader = new AsyncModelLoader(device);
    await loader.load(tensors);
    const { seconds, bytes } = await loader.load(tensors);
    cells.push(`${shown}: ${(bytes / seconds / 1e9).toFixed(2)}`);
  }
  console.log(cells.join('   '));
}

/** At least `size` bytes: a source, repeated. */
function repeated(source: ByteSource, size: number): ByteSource {
  if (source.size >= size) return source;
  const read = async (offset: number, into: Uint8Array, signal?: AbortSignal): Promise<void> => {
    for (let done = 0; done < into.byteLength;) {
      const at = (offset + done) % source.size;
      const length = Math.min(into.byteLength - done, source.size - at);
      await source.read(at, into.subarray(done, done + length), signal);
      done += length;
    }
  };
  return { name: source.name, size, read, dispose: async () => {}, [Symbol.asyncDispose]: async () => {} };
}

function powersUpTo(most: number): number[] {
  const powers: number[] = [];
  for (let power = 1; power < most; power *= 2) powers.push(power);
  return [...powers, most];
}
