import type { Device, PackedWeight } from '../../src/device/index.ts';
import { wholeOf } from '../../src/device/index.ts';
import type { TensorFormat } from '../../src/formats/index.ts';
import { type GgufFile, loadTensorBytes, type TensorInfo } from '../../src/gguf/index.ts';
import type { WeightJob } from '../../src/load/weight-job.ts';

/** How tensors become jobs. */
export interface JobOptions {
  readonly rowAlignment?: number;
  /** What matrices become; the file's format unless given. */
  readonly become?: TensorFormat;
}

/** A job for each tensor of the file on a device that keeps file rows, such as the reference device. */
export function jobsFor(gguf: GgufFile, device: Device, options: JobOptions = {}): WeightJob[] {
  return gguf.tensors.map((tensor) => jobFor(tensor, device, options));
}

/** A job for one tensor. The caller disposes its target, or the device. */
export function jobFor(
  tensor: TensorInfo,
  device: Device,
  { rowAlignment = 1, become }: JobOptions = {},
): WeightJob {
  const [columns = 1] = tensor.shape;
  const rows = tensor.elementCount / columns;
  const format = become ?? tensor.format;
  const part = { kind: 'weight', id: 0, name: tensor.name, format, rows, columns } as const;
  const byteLength = (tensor.elementCount / format.blockElements) * format.blockBytes;
  const weight: PackedWeight = { parts: [part], byteLength, layout: 'file', rowAlignment };
  return { weight, target: wholeOf(device.createBuffer(byteLength, tensor.name)), tensors: [tensor] };
}

/** What a job's target holds. */
export async function arrived(device: Device, { target }: WeightJob): Promise<Uint8Array> {
  await using stream = device.createStream('check');
  const found = new Uint8Array(target.byteLength);
  await stream.download(target, found);
  return found;
}

/** What a job's target should hold, by the formats' own decoders. */
export async function expected({ weight, tensors }: WeightJob): Promise<Uint8Array> {
  const [tensor] = tensors as [TensorInfo];
  const bytes = await loadTensorBytes(tensor);
  const become = weight.parts[0]?.format ?? tensor.format;
  if (become === tensor.format) return bytes;
  const floats = new Float32Array(tensor.elementCount);
  tensor.format.decode(bytes, 0, floats, 0, tensor.elementCount / tensor.format.blockElements);
  const found = new Uint8Array(weight.byteLength);
  if (!become.encode) throw new Error(`${become.name} is not encoded`);
  become.encode(floats, 0, found, 0, tensor.elementCount);
  return found;
}
