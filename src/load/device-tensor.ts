import { alignUp, asBytes } from '../base/bytes.ts';
import { fail } from '../base/errors.ts';
import { BUFFER_ALIGNMENT, type BufferRange, type Device, type DeviceBuffer } from '../device/index.ts';
import { F32, type TensorFormat } from '../formats/index.ts';

/** The description of a tensor, independent of where its elements are. */
export interface TensorShape {
  readonly name: string;
  /** Size of each dimension, the innermost first. */
  readonly shape: readonly number[];
}

/** A tensor in its own device buffer, as consecutive blocks of a format. Its creator disposes it. */
export class DeviceTensor implements Disposable {
  readonly name: string;
  readonly shape: readonly number[];
  readonly format: TensorFormat;
  readonly range: BufferRange;
  readonly #device: Device;
  readonly #buffer: DeviceBuffer;

  private constructor(device: Device, { name, shape }: TensorShape, format: TensorFormat) {
    this.name = name;
    this.shape = shape;
    this.format = format;
    this.#device = device;
    const byteLength = (this.elementCount / format.blockElements) * format.blockBytes;
    // Devices cannot create empty buffers.
    this.#buffer = device.createBuffer(alignUp(Math.max(1, byteLength), BUFFER_ALIGNMENT), name);
    this.range = { buffer: this.#buffer, offset: 0, byteLength };
  }

  /** Allocates memory for a tensor. Throws `OUT_OF_MEMORY`. */
  static create(device: Device, tensor: TensorShape, format: TensorFormat): DeviceTensor {
    return new DeviceTensor(device, tensor, format);
  }

  /** Uploads f32 elements to a device. Rejects with `INVALID_ARGUMENT` if their number does not match the shape. */
  static async fromHost(device: Device, tensor: TensorShape, elements: Float32Array): Promise<DeviceTensor> {
    const expected = elementsOf(tensor);
    if (elements.length !== expected) {
      fail('INVALID_ARGUMENT', {
        name: tensor.name,
        found: `${elements.length} elements`,
        expected: `${expected}`,
      });
    }
    const made = new DeviceTensor(device, tensor, F32);
    try {
      await using stream = device.createStream('from host');
      stream.upload(asBytes(elements), made.range);
      await stream.synchronize();
      return made;
    } catch (error) {
      made[Symbol.dispose]();
      throw error;
    }
  }

  get elementCount(): number {
    return elementsOf(this);
  }

  /** The bytes on the device. */
  async toHostBytes(): Promise<Uint8Array> {
    await using stream = this.#device.createStream('to host');
    const bytes = new Uint8Array(this.range.byteLength);
    await stream.download(this.range, bytes);
    return bytes;
  }

  /** The elements, decoded. */
  async toHost(): Promise<Float32Array> {
    const bytes = await this.toHostBytes();
    const elements = new Float32Array(this.elementCount);
    this.format.decode(bytes, 0, elements, 0, this.elementCount / this.format.blockElements);
    return elements;
  }

  [Symbol.dispose](): void {
    this.#buffer[Symbol.dispose]();
  }
}

function elementsOf({ shape }: TensorShape): number {
  return shape.reduce((product, size) => product * size, 1);
}
