import { Lifetime } from '../../base/disposal.ts';
import { fail } from '../../base/errors.ts';
import type { BufferRange, DeviceBuffer } from '../../device/index.ts';

/** Memory of a remote device, named by a number. */
export class RemoteBuffer implements DeviceBuffer {
  readonly byteLength: number;
  readonly label: string;
  readonly id: number;
  /** Whose it is. */
  readonly owner: object;
  readonly #lifetime: Lifetime;
  readonly #ended: (buffer: RemoteBuffer) => void;

  constructor(
    of: { readonly byteLength: number; readonly label: string; readonly id: number; readonly owner: object },
    ended: (buffer: RemoteBuffer) => void,
  ) {
    this.byteLength = of.byteLength;
    this.label = of.label;
    this.id = of.id;
    this.owner = of.owner;
    this.#ended = ended;
    this.#lifetime = new Lifetime(`buffer ${of.label}`);
  }

  /** Throws `DISPOSED` after disposal. */
  check(): void {
    this.#lifetime.check();
  }

  [Symbol.dispose](): void {
    if (this.#lifetime.end()) this.#ended(this);
  }
}

/** The buffer of a range, which is `owner`'s. Throws `BINDING` for another device's, `DISPOSED` after its disposal. */
export function remoteBuffer({ buffer }: Pick<BufferRange, 'buffer'>, owner: object): RemoteBuffer {
  if (buffer instanceof RemoteBuffer && buffer.owner === owner) {
    buffer.check();
    return buffer;
  }
  const found = `${buffer.label}, of another device`;
  return fail('BINDING', {
    graph: 'remote',
    value: 'range',
    found,
    expected: 'memory of this remote device',
  });
}
