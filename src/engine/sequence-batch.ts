import { invariant } from '../base/errors.ts';
import type { Stream } from '../device/index.ts';
import { AsyncModelLoader } from '../load/async-model-loader.ts';
import { architectureOf } from '../model/architecture.ts';
import type { BatchPlan } from '../model/batch-plan.ts';
import { ExecutionPlan } from '../model/execution-plan.ts';
import { requireFit } from '../model/fit-plan.ts';
import { blocksFor, KvCache } from '../model/kv-cache.ts';
import { recordModel } from '../model/model-graphs.ts';
import { DEFAULT_SAMPLING, SAMPLING_ROW_WORDS, writeSamplingRow } from '../ops/index.ts';
import type { ModelParts } from './language-model.ts';

/** Room for how many sequences of how many positions. */
export interface SequenceBatchOptions {
  readonly sequences: number;
  readonly context: number;
}

/**
 * As many sequences as a step has rows, all as long as each other, each a token further with every step: what the steps of a
 * busy server are like. Greedy. It loads weights of its own; file and device stay the caller's.
 */
export class SequenceBatch implements AsyncDisposable {
  readonly sequences: number;
  readonly #plan: ExecutionPlan;
  readonly #state: KvCache;
  readonly #stream: Stream;
  readonly #vocabulary: number;
  #length = 0;

  private constructor(of: {
    plan: ExecutionPlan;
    state: KvCache;
    stream: Stream;
    sequences: number;
    vocabulary: number;
  }) {
    this.#plan = of.plan;
    this.#state = of.state;
    this.#stream = of.stream;
    this.sequences = of.sequences;
    this.#vocabulary = of.vocabulary;
  }

  /** Rejects as `LanguageModel.open` does. */
  static async open(
    { gguf, device, architectures }: ModelParts,
    { sequences, context }: SequenceBatchOptions,
  ): Promise<SequenceBatch> {
    const architecture = architectureOf(gguf.metadata, architectures);
    const config = architecture.configure(gguf.metadata, gguf.metadata.string('general.architecture') ?? '');
    const tensors = new Map(gguf.tensors.map((tensor) => [tensor.name, tensor]));
    const blocksPerSlot = blocksFor(context);
    const blocks = sequences * blocksPerSlot;
    const graphs = recordModel(architecture, config, tensors, {
      shape: { rows: sequences, outputs: sequences, slots: sequences, blocksPerSlot },
      blocks,
      cacheType: 'f16',
      context,
      alternatives: 0,
    });
    const plan = await ExecutionPlan.compile(device, [graphs], tensors);
    requireFit(plan.fit(), (await device.memory()).free);
    await plan.allocate();
    try {
      await new AsyncModelLoader(device, {}).load(plan.weightJobs());
      const state = new KvCache({ blocks, slots: sequences, context });
      const stream = device.createStream('sequences');
      const vocabulary = graphs.boundaries.get('logits')?.width ?? 0;
      return new SequenceBatch({ plan, state, stream, sequences, vocabulary });
    } catch (error) {
      await plan[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The plan of every step. */
  get batch(): BatchPlan {
    return this.#plan.batchFor(this.sequences, this.sequences);
  }

  /** Reads a prompt a sequence, all of one length, but for the last token of each, with which the first step begins. */
  async read(prompts: readonly (readonly number[])[]): Promise<void> {
    const length = prompts[0]?.length ?? 0;
    invariant(
      prompts.length === this.sequences && this.#length === 0,
      'every sequence gets its first prompt',
    );
    this.#length = length - 1;
    for (const [slot, ids] of prompts.entries()) {
      invariant(this.#state.reserve(slot, length), 'the sequences have room for their context');
      for (let at = 0; at < this.#length; at += this.sequences) {
        const slice = ids.slice(at, Math.min(at + this.sequences, this.#length));
        this.#write(slice.map((id, i) => ({ id, slot, position: at + i })));
        this.#plan.run(this.#stream, this.batch, { step: 'forward' });
        await this.#stream.synchronize();
      }
    }
    this.#writeNext(prompts.map((ids) => ids[length - 1] as number));
    this.#plan.run(this.#stream, this.batch, { step: 'generate' });
    await this.#stream.synchronize();
  }

  /** Each sequence's logits at the last position. */
  async logits(): Promise<Float32Array> {
    const logits = new Float32Array(this.sequences * this.#vocabulary);
    await this.#stream.download(this.#plan.result('logits'), new Uint8Array(logits.buffer));
    return logits;
  }

  /** Runs that many steps, each on the tokens of the one before, each queued before the one before has ended. */
  async step(count: number): Promise<void> {
    const tokens = [0, 1].map(() => new Uint8Array(4 * this.sequences));
    let last: Promise<void> | undefined;
    for (let i = 0; i < count; i++) {
      this.#writeNext(new Array<number>(this.sequences).fill(0));
      this.#plan.run(this.#stream, this.batch, { step: 'generate', continued: true });
      const ended = this.#stream.download(this.#plan.result('tokens'), tokens[i % 2] as Uint8Array);
      await last;
      last = ended;
    }
    await last;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stream[Symbol.asyncDispose]();
    await this.#plan[Symbol.asyncDispose]();
  }

  #writeNext(ids: readonly number[]): void {
    const position = this.#length++;
    for (let slot = 0; slot < this.sequences; slot++) {
      invariant(this.#state.reserve(slot, this.#length), 'the sequences have room for their context');
    }
    this.#write(
      ids.map((id, slot) => ({ id, slot, position })),
      this.sequences,
    );
  }

  #write(rows: readonly { id: number; slot: number; position: number }[], outputs = 0): void {
    const { inputs } = this.batch;
    inputs.view('counts').set([rows.length, outputs]);
    rows.forEach(({ id, slot, position }, row) => {
      inputs.view('ids')[row] = id;
      inputs.view('slots')[row] = slot;
      inputs.view('positions')[row] = position;
    });
    const { blocksPerSlot } = this.batch.shape;
    const parameters = inputs.view('parameters');
    for (let slot = 0; slot < this.sequences; slot++) {
      inputs.view('output_rows')[slot] = slot;
      this.#state.writeBlocks(slot, inputs.view('blocks').subarray(slot * blocksPerSlot));
      const row = parameters.subarray(slot * SAMPLING_ROW_WORDS, (slot + 1) * SAMPLING_ROW_WORDS);
      writeSamplingRow({ ...DEFAULT_SAMPLING, temperature: 0 }, row);
    }
  }
}
