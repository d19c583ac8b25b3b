import { alignUp } from '../base/bytes.ts';
import { fail } from '../base/errors.ts';
import type { ByteSink } from '../io/index.ts';
import { type GgufLayout, type GgufPlan, layoutOf, type PlacedTensor } from './gguf-layout.ts';

/**
 * Writes a GGUF file sequentially: the header of a plan, then the tensors' data in the plan's order, in pieces of any
 * size. The writer adds padding; the caller closes the sink.
 */
export class GgufWriter {
  /** The positions of everything in the file. */
  readonly layout: GgufLayout;
  readonly #sink: ByteSink;
  #index = 0;
  #written = 0;

  private constructor(sink: ByteSink, layout: GgufLayout) {
    this.#sink = sink;
    this.layout = layout;
  }

  /** Writes the header. Rejects with `INVALID_ARGUMENT` for a plan that readers would reject. */
  static async begin(sink: ByteSink, plan: GgufPlan): Promise<GgufWriter> {
    const writer = new GgufWriter(sink, layoutOf(plan));
    await sink.write(writer.layout.header);
    return writer;
  }

  /** The tensor whose data comes next; undefined once all are written. Tensors without elements are skipped. */
  get next(): PlacedTensor | undefined {
    while (this.layout.tensors[this.#index]?.byteLength === 0) this.#index++;
    return this.layout.tensors[this.#index];
  }

  /** Appends data of the next tensor. Rejects with `INVALID_ARGUMENT` if it exceeds what that tensor still lacks. */
  async write(bytes: Uint8Array): Promise<void> {
    if (bytes.byteLength === 0) return;
    const tensor = this.next;
    const left = tensor ? tensor.byteLength - this.#written : 0;
    if (!tensor || bytes.byteLength > left) {
      const name = tensor ? `data of tensor "${tensor.name}"` : 'data after the last tensor';
      fail('INVALID_ARGUMENT', { name, found: `${bytes.byteLength} bytes`, expected: `at most ${left}` });
    }
    await this.#sink.write(bytes);
    this.#written += bytes.byteLength;
    if (this.#written === tensor.byteLength) await this.#finish(tensor);
  }

  /** Checks that all data was written. */
  end(): void {
    const tensor = this.next;
    if (!tensor) return;
    const found = `${this.#written} bytes`;
    fail('INVALID_ARGUMENT', {
      name: `data of tensor "${tensor.name}"`,
      found,
      expected: `${tensor.byteLength}`,
    });
  }

  async #finish(tensor: PlacedTensor): Promise<void> {
    const padding = alignUp(tensor.byteLength, this.layout.alignment) - tensor.byteLength;
    if (padding > 0) await this.#sink.write(new Uint8Array(padding));
    this.#index++;
    this.#written = 0;
  }
}
