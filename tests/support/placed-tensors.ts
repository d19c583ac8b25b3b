import type { Device, PackedWeight } from '../../src/device/index.ts';
import { wholeOf } from '../../src/device/index.ts';
import type { TensorFormat } from '../../src/formats/index.ts';
import { type GgufFile, loadTensorBytes, type TensorInfo } from '../../src/gguf/index.ts';
import { LazyTensor } from '../../src/load/lazy-tensor.ts';

/** How a file's tensors become weights. */
export interface PlacedOptions {
  readonly rowAlignment?: number;
  /** The format of matrices; by default the file's. */
  readonly become?: TensorFormat;
}

/**
 * A weight with memory for each of the file's tensors, on a device that keeps file rows, such as the reference device.
 */
export function placedTensors(gguf: GgufFile, device: Device, options: PlacedOptions = {}): LazyTensor[] {
  return gguf.tensors.map((tensor) => placedTensor(tensor, device, options));
}

/** A weight of one tensor with memory, which the caller or the device disposes. */
export function placedTensor(
  tensor: TensorInfo,
  device: Device,
  { rowAlignment = 1, become }: PlacedOptions = {},
): LazyTensor {
  const [columns = 1] = tensor.shape;
  const rows = tensor.elementCount / columns;
  const format = become ?? tensor.format;
  const part = { kind: 'weight', id: 0, name: tensor.name, format, rows, columns } as const;
  const byteLength = (tensor.elementCount / format.blockElements) * format.blockBytes;
  const packed: PackedWeight = { parts: [part], byteLength, layout: 'file', rowAlignment };
  const weight = new LazyTensor({ packed, tensors: [tensor] });
  weight.place(wholeOf(device.createBuffer(byteLength, tensor.name)));
  return weight;
}

/** The contents of a weight's memory. */
export async function arrived(device: Device, { range }: LazyTensor): Promise<Uint8Array> {
  await using stream = device.createStream('check');
  const found = new Uint8Array(range.byteLength);
  await stream.download(range, found);
  return found;
}

/** The expected contents of a weight's memory, according to the formats' own decoders. */
export async function expected({ packed, tensors }: LazyTensor): Promise<Uint8Array> {
  const [tensor] = tensors as [TensorInfo];
  const bytes = await loadTensorBytes(tensor);
  const become = packed.parts[0]?.format ?? tensor.format;
  if (become === tensor.format) return bytes;
  const floats = new Float32Array(tensor.elementCount);
  tensor.format.decode(bytes, 0, floats, 0, tensor.elementCount / tensor.format.blockElements);
  const found = new Uint8Array(packed.byteLength);
  if (!become.encode) throw new Error(`${become.name} is not encoded`);
  become.encode(floats, 0, found, 0, tensor.elementCount);
  return found;
}
