import { fail } from '../base/errors.ts';
import type { ByteSource } from '../io/index.ts';
import { type GgufPart, readPart } from './gguf-part.ts';
import type { GgufMetadata } from './metadata.ts';
import { readSiblings, type SplitOptions, splitCountOf } from './split.ts';
import type { TensorInfo } from './tensor-info.ts';

/** How a GGUF file is opened. */
export type GgufOpenOptions = SplitOptions;

/**
 * An opened GGUF model, in one file or several: an index over bytes. Opening reads headers only, no tensor data, and
 * checks every statement in them against the files' sizes. The file owns its sources, siblings included.
 */
export class GgufFile implements AsyncDisposable {
  /** The physical files in order; one for a model that is not split. */
  readonly parts: readonly [GgufPart, ...GgufPart[]];

  /** The metadata of the model: that of the first part. */
  readonly metadata: GgufMetadata;

  /** All tensors, part by part in the order of the index. */
  readonly tensors: readonly TensorInfo[];

  readonly #byName: ReadonlyMap<string, TensorInfo>;

  private constructor(
    parts: readonly [GgufPart, ...GgufPart[]],
    /** How long reading the headers took. */
    readonly openSeconds: number,
  ) {
    this.parts = parts;
    this.metadata = parts[0].metadata;
    this.tensors = parts.flatMap((part) => part.tensors);
    this.#byName = new Map(this.tensors.map((tensor) => [tensor.name, tensor]));
  }

  /**
   * Opens the model that `source` holds or is a part of. Takes `source` over: it is disposed with the file, and also when
   * opening fails. Rejects with a `GGUF_…` error for a bad file, `ABORTED`, or what reading rejects with.
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

  /** Name of the first part's source. */
  get name(): string {
    return this.parts[0].source.name;
  }

  /** GGUF version: 2 or 3. */
  get version(): number {
    return this.parts[0].version;
  }

  /** Bytes of all parts. */
  get byteLength(): number {
    return this.parts.reduce((sum, part) => sum + part.source.size, 0);
  }

  /** The tensor of that name, undefined when there is none. */
  tensor(name: string): TensorInfo | undefined {
    return this.#byName.get(name);
  }

  /** The tensor of that name; throws `GGUF_TENSOR_MISSING`. */
  requireTensor(name: string): TensorInfo {
    return this.#byName.get(name) ?? fail('GGUF_TENSOR_MISSING', { source: this.name, tensor: name });
  }

  /** Disposes all sources; metadata stays readable. */
  async dispose(): Promise<void> {
    await Promise.all(this.parts.map((part) => part.source.dispose()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }
}
