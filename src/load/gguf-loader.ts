import { fail } from '../base/errors.ts';
import { checkOptions, type OptionNames } from '../base/options.ts';
import type { BufferRange, Device } from '../device/index.ts';
import type { TensorFormat } from '../formats/index.ts';
import type { GgufFile, TensorInfo } from '../gguf/index.ts';
import {
  AsyncModelLoader,
  LOADER_OPTIONS,
  type LoaderOptions,
  type LoadOptions,
  SYNCHRONOUS,
} from './async-model-loader.ts';
import { DeviceTensor } from './device-tensor.ts';
import { LazyTensor } from './lazy-tensor.ts';
import { formatUnder, type WeightPolicy } from '../formats/weight-policy.ts';

/** How tensors are loaded, and in which format. */
export interface GgufLoaderOptions extends LoaderOptions {
  /** Default `blocks`: the file's format. */
  readonly weights?: WeightPolicy | undefined;
}

const GGUF_LOADER_OPTIONS: OptionNames<GgufLoaderOptions> = { ...LOADER_OPTIONS, weights: true };

/**
 * Loads tensors of a file by name, without a model: for tools and for custom work on the device. A tensor is loaded
 * once and kept until the loader is disposed.
 */
export class GgufLoader implements AsyncDisposable {
  readonly #gguf: GgufFile;
  readonly #device: Device;
  readonly #options: GgufLoaderOptions;
  readonly #loader: AsyncModelLoader;
  readonly #loading = new Map<string, Promise<DeviceTensor>>();
  readonly #loaded = new Map<string, DeviceTensor>();

  /** The caller owns file and device. */
  constructor(gguf: GgufFile, device: Device, options: GgufLoaderOptions = {}) {
    checkOptions('GgufLoader', options, GGUF_LOADER_OPTIONS);
    this.#gguf = gguf;
    this.#device = device;
    this.#options = options;
    const { weights: _, ...loader } = options;
    this.#loader = new AsyncModelLoader(device, loader);
  }

  /** A tensor that was loaded before; undefined otherwise. */
  getGpuTensorCached(name: string): DeviceTensor | undefined {
    return this.#loaded.get(name);
  }

  /**
   * Loads one tensor; concurrent calls share the load. Throws `INVALID_ARGUMENT` for a name that the file does not
   * have.
   */
  loadTensorToGpu(name: string, { signal }: Pick<LoadOptions, 'signal'> = {}): Promise<DeviceTensor> {
    const known = this.#loading.get(name);
    if (known) return known;
    const loading = this.#load([this.#tensor(name)], this.#loader, { signal }).then(
      ([tensor]) => tensor as DeviceTensor,
    );
    this.#loading.set(name, loading);
    loading.catch(() => this.#loading.delete(name));
    return loading;
  }

  /** Loads every tensor of the file, one chunk after another: the baseline for `loadToGpuAsync`. */
  async loadToGpu(options: LoadOptions = {}): Promise<ReadonlyMap<string, DeviceTensor>> {
    const { weights: _, ...sizes } = this.#options;
    await using loader = new AsyncModelLoader(this.#device, { ...sizes, ...SYNCHRONOUS });
    await this.#load(this.#gguf.tensors, loader, options);
    return this.#loaded;
  }

  /** Loads every tensor of the file, with overlapping reads, decoding and copies. */
  async loadToGpuAsync(options: LoadOptions = {}): Promise<ReadonlyMap<string, DeviceTensor>> {
    await this.#load(this.#gguf.tensors, this.#loader, options);
    return this.#loaded;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loader[Symbol.asyncDispose]();
    await Promise.allSettled(this.#loading.values());
    for (const tensor of this.#loaded.values()) tensor[Symbol.dispose]();
    this.#loaded.clear();
  }

  /** Loads what was not loaded before; on failure all its memory is released. */
  async #load(
    tensors: readonly TensorInfo[],
    loader: AsyncModelLoader,
    options: LoadOptions,
  ): Promise<DeviceTensor[]> {
    const { weights = 'blocks' } = this.#options;
    const created: DeviceTensor[] = [];
    try {
      const lazy = tensors
        .filter(({ name }) => !this.#loaded.has(name))
        .flatMap((tensor) => {
          const [columns = 1] = tensor.shape;
          const format = formatUnder(weights, tensor.format, tensor.elementCount / columns);
          const made = DeviceTensor.create(this.#device, tensor, format);
          created.push(made);
          return tensor.byteLength === 0 ? [] : [plainTensor(tensor, format, made.range)];
        });
      await loader.load(lazy, options);
    } catch (error) {
      for (const tensor of created) tensor[Symbol.dispose]();
      throw error;
    }
    for (const tensor of created) this.#keep(tensor);
    return tensors.map(({ name }) => this.#loaded.get(name) as DeviceTensor);
  }

  /** If one tensor is loaded twice at the same time, the first to finish is kept. */
  #keep(tensor: DeviceTensor): void {
    if (this.#loaded.has(tensor.name)) tensor[Symbol.dispose]();
    else this.#loaded.set(tensor.name, tensor);
  }

  #tensor(name: string): TensorInfo {
    const tensor = this.#gguf.tensors.find((candidate) => candidate.name === name);
    if (tensor) return tensor;
    return fail('INVALID_ARGUMENT', {
      name: 'tensor',
      found: name,
      expected: `a tensor of ${this.#gguf.name}`,
    });
  }
}

/** Rows of a plain tensor's chunk are a multiple of this, so that every chunk is aligned in device memory. */
const PLAIN_ROWS = 256;

/** A tensor that is stored on the device as consecutive blocks of `format`. */
export function plainTensor(tensor: TensorInfo, format: TensorFormat, range: BufferRange): LazyTensor {
  const columns = Math.max(format.blockElements, tensor.format.blockElements);
  const rows = tensor.elementCount / columns;
  const part = { kind: 'weight', id: 0, name: tensor.name, format, rows, columns } as const;
  const { byteLength } = range;
  const packed = { parts: [part], byteLength, layout: 'plain', rowAlignment: PLAIN_ROWS };
  const lazy = new LazyTensor({ packed, tensors: [tensor], plain: true });
  lazy.place(range);
  return lazy;
}
