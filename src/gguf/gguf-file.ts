import { fail } from '../base/errors.ts';
import type { ByteSource } from '../io/index.ts';
import { type GgufPart, readPart } from './gguf-part.ts';
import type { GgufMetadata } from './metadata.ts';
import { readSiblings, type SplitOptions, splitCountOf } from './split.ts';
import type { TensorInfo } from './tensor-info.ts';

/** Options for opening a GGUF file. */
export type GgufOpenOptions = SplitOptions;

/**
 * An open GGUF model, in one file or several: an index over bytes. Opening reads only headers, no tensor data, and
 * validates them against the files' sizes. The file owns its sources, including those of other parts.
 */
export class GgufFile implements AsyncDisposable {
  /** The physical files in order; one for a model that is not split. */
  readonly parts: readonly [GgufPart, ...GgufPart[]];

  /** The model's metadata, from the first part. */
  readonly metadata: GgufMetadata;

  /** All tensors, part by part in index order. */
  readonly tensors: readonly TensorInfo[];

  readonly #byName: ReadonlyMap<string, TensorInfo>;

  private constructor(
    parts: readonly [GgufPart, ...GgufPart[]],
    /** Seconds that reading the headers took. */
    readonly openSeconds: number,
  ) {
    this.parts = parts;
    this.metadata = parts[0].metadata;
    this.tensors = parts.flatMap((part) => part.tensors);
    this.#byName = new Map(this.tensors.map((tensor) => [tensor.name, tensor]));
  }

  /**
   * Opens the model of which `source` is the only file or a part. Takes ownership of `source`, which is disposed with
   * the file, or if opening fails. Rejects with a `GGUF_…` error for an invalid file, with `ABORTED`, or with the
   * source's read errors.
   */
  static async open(source: ByteSource, options: GgufOpenOptions = {}): Promise<GgufFile> {
    const begin = performance.now();
    try {
      const opened = await readPart(source, options);
      const parts = splitCountOf(opened) > 1 ? await readSiblings(opened, options) : ([opened] as const);
      return new GgufFile(parts, (performance.now() - begin) / 1000);
    } catch (error) {
      await source.dispose();
      throw error;
    }
  }

  /** The name of the first part's source. */
  get name(): string {
    return this.parts[0].source.name;
  }

  /** GGUF version: 2 or 3. */
  get version(): number {
    return this.parts[0].version;
  }

  /** Total size of all parts in bytes. */
  get byteLength(): number {
    return this.parts.reduce((sum, part) => sum + part.source.size, 0);
  }

  /** The tensor of this name, or undefined. */
  tensor(name: string): TensorInfo | undefined {
    return this.#byName.get(name);
  }

  /** The tensor of this name. Throws `GGUF_TENSOR_MISSING`. */
  requireTensor(name: string): TensorInfo {
    return this.#byName.get(name) ?? fail('GGUF_TENSOR_MISSING', { source: this.name, tensor: name });
  }

  /** Disposes all sources; metadata remains readable. */
  async dispose(): Promise<void> {
    await Promise.all(this.parts.map((part) => part.source.dispose()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }
}
