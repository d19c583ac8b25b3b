import type { Device, Stream } from '../../src/device/index.ts';
import { F32, formatNamed, type TensorFormat } from '../../src/formats/index.ts';
import { AsyncModelLoader } from '../../src/load/async-model-loader.ts';
import { KV_BLOCK_SIZE, tableName } from '../../src/model/state-groups.ts';
import { syntheticShape } from '../../src/model/synthetic/shapes.ts';
import type { SyntheticShape } from '../../src/model/synthetic-family.ts';
import {
  DEFAULT_SAMPLING,
  SAMPLING_ROW_WORDS,
  weightRowBytes,
  writeSamplingRow,
} from '../../src/ops/index.ts';
import { ExecutionPlan } from '../../src/plan/execution-plan.ts';
import type { StepInputs } from '../../src/plan/inputs/batch-inputs.ts';
import type { PersistentInputs } from '../../src/plan/inputs/persistent-inputs.ts';
import type { BatchPlan } from '../../src/plan/steps/batch-plan.ts';
import { splitModel } from '../../src/plan/ranks/split-model.ts';
import { chooseFormats } from '../../src/quantize/choose-formats.ts';
import { MIXES } from '../../src/quantize/mixes.ts';
import {
  syntheticGraphs,
  type SyntheticModel,
  syntheticModel,
} from '../../tests/support/synthetic-graphs.ts';

const CHUNK_BYTES = 8 << 20;

export interface Work {
  readonly rows: number;
  /** One sequence's prompt, or single tokens of `rows` sequences. */
  readonly prompt: boolean;
  /** Positions before the first row. */
  readonly past: number;
  /** Whether weights have dequantized copies. */
  readonly dequantized: boolean;
}

/** A workload with a cache of this many blocks. */
interface InputWork extends Work {
  readonly blocks: number;
  /** Tables of blocks: one of each group of caches. */
  readonly tables: number;
}

/** Fills every weight from a few megabytes of random blocks. */
async function fillWeights(device: Device, plan: ExecutionPlan): Promise<void> {
  await using stream = device.createStream('weights');
  using pinned = device.createPinned(CHUNK_BYTES, 'random blocks');
  const formats = new Set(plan.weights.flatMap(({ packed }) => packed.parts.map((part) => part.format)));
  for (const format of formats) {
    // Norms' weights are numbers of f32: small ones would hide what layers compute.
    format.fillRandom(pinned.bytes, Math.random, format === F32 ? 1 : 0.02);
    for (const { packed, range } of plan.weights) {
      packed.parts.forEach((part, index) => {
        if (part.format !== format) return;
        const step = Math.max(1, Math.floor(CHUNK_BYTES / weightRowBytes(part)));
        for (let firstRow = 0; firstRow < part.rows; firstRow += step) {
          const rowCount = Math.min(step, part.rows - firstRow);
          stream.pack(packed, { part: index, firstRow, rowCount }, { pinned, offset: 0 }, range);
        }
      });
    }
    await stream.synchronize();
  }
}

function fillInputs(
  inputs: StepInputs,
  kept: PersistentInputs,
  { rows, prompt, blocks, tables }: InputWork,
): void {
  const outputs = prompt ? 1 : rows;
  inputs.view('counts').set([rows, outputs]);
  inputs.clearSlotRows();
  for (let row = 0; row < rows; row++) {
    inputs.view('ids')[row] = 100 + row;
    inputs.view('slots')[row] = prompt ? 0 : row;
    inputs.addSlotRows(prompt ? 0 : row, row, 1);
  }
  for (let output = 0; output < outputs; output++) {
    inputs.view('output_rows')[output] = prompt ? rows - 1 : output;
    const row = new Int32Array(SAMPLING_ROW_WORDS);
    writeSamplingRow({ ...DEFAULT_SAMPLING, temperature: 0 }, row);
    kept.write('parameters', output * row.length, row);
  }
  const table = Int32Array.from({ length: blocks }, (_, i) => i);
  for (let place = 0; place < tables; place++) kept.write(tableName(place), 0, table);
}

/** A model's step for a workload, with random weights in place. */
export class PreparedStep implements AsyncDisposable {
  readonly plan: ExecutionPlan;
  /** Milliseconds that compiling took. */
  readonly compiled: number;
  readonly #work: Work;
  readonly #batch: BatchPlan;
  readonly #inputs: StepInputs;
  readonly #loader: AsyncModelLoader;

  private constructor(of: {
    plan: ExecutionPlan;
    compiled: number;
    work: Work;
    batch: BatchPlan;
    inputs: StepInputs;
    loader: AsyncModelLoader;
  }) {
    this.plan = of.plan;
    this.compiled = of.compiled;
    this.#work = of.work;
    this.#batch = of.batch;
    this.#inputs = of.inputs;
    this.#loader = of.loader;
  }

  static async of(
    device: Device,
    { model, work }: { model: SyntheticModel; work: Work },
  ): Promise<PreparedStep> {
    const started = performance.now();
    const { plan, blocks, tables, outputs } = await compiledPlan(device, { model, work });
    const compiled = performance.now() - started;
    const loader = new AsyncModelLoader(device);
    await plan.allocate(plan.fit(), loader);
    await fillWeights(device, plan);
    const batch = plan.planFor(work.rows, outputs);
    await batch.prepare('generate');
    const inputs = batch.input(0);
    fillInputs(inputs, plan.kept, { ...work, blocks, tables });
    return new PreparedStep({ plan, compiled, work, batch, inputs, loader });
  }

  /** Uploads the step's inputs; of what is in the cache before `past`, a step reads whatever is there. */
  upload(stream: Stream, past = this.#work.past): void {
    const { prompt, rows } = this.#work;
    const positions = this.#inputs.view('positions');
    for (let row = 0; row < rows; row++) positions[row] = prompt ? past + row : past;
    this.#batch.upload(stream, this.#inputs);
  }

  run(stream: Stream): void {
    this.upload(stream);
    this.#batch.run(stream, 'generate');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loader[Symbol.asyncDispose]();
    await this.plan[Symbol.asyncDispose]();
  }
}

/** Compiles a model for a workload; its cache has `blocks` blocks. */
async function compiledPlan(
  device: Device,
  { model, work }: { model: SyntheticModel; work: Work },
): Promise<{ plan: ExecutionPlan; blocks: number; tables: number; outputs: number }> {
  const slots = work.prompt ? 1 : work.rows;
  const blocksPerSlot = Math.ceil((work.past + (work.prompt ? work.rows : 1) + 64) / KV_BLOCK_SIZE);
  const [blocks, context] = [slots * blocksPerSlot, blocksPerSlot * KV_BLOCK_SIZE];
  const outputs = work.prompt ? 1 : work.rows;
  const groups = model.config.state.map((group) => ({ ...group, blocks }));
  const cache = { blocks, cacheType: 'f16', context, tokens: outputs, alternatives: 0 } as const;
  const plan = await ExecutionPlan.compile({
    device,
    tensors: model.tensors,
    shape: { rows: work.rows, outputs, slots, blocksPerSlot },
    inFlight: 1,
    context,
    state: { groups, slots, context, checkpoints: false },
    record: (of) => {
      const graphs = syntheticGraphs(model, { shape: of, ...cache, dequantized: work.dequantized });
      return device.group ? splitModel(graphs, device.group) : graphs;
    },
  });
  return { plan, blocks, tables: groups.filter(({ kind }) => kind !== 'slots').length, outputs };
}

/** A batch as the command line names it: single tokens of so many sequences, `p512` for a prompt, `1@8192` behind so many positions. */
export function workCalled(batch: string): Omit<Work, 'dequantized'> {
  const prompt = batch.startsWith('p');
  const [rows = 1, depth] = (prompt ? batch.slice(1) : batch).split('@').map(Number);
  return { rows, prompt, past: depth ?? (prompt ? 0 : rows === 1 ? 64 : 192) };
}

/** A workload's name in what is printed. */
export function nameOfWork({ prompt, rows, past }: Work): string {
  return prompt ? `pp${rows}` : `${rows} x tg at ${past}`;
}

/** A shape by its name, with another number of layers behind a colon, and a rank's share of it behind a slash. */
export function shapeCalled(name: string): SyntheticShape {
  const [, known = '', layers, ranks] = /^([^:/]+)(?::(\d+))?(?:\/(\d+))?$/.exec(name) ?? [];
  const shape = syntheticShape(known, layers === undefined ? {} : { layers: Number(layers) });
  // A shape that names no head size has its family's, which may be wider than the width divided by the heads.
  if (ranks === undefined) return shape;
  const share = (of: number) => Math.max(1, of / Number(ranks));
  const { width, heads, headSize = width / heads, kvHeads, hidden } = shape;
  return { ...shape, headSize, heads: share(heads), kvHeads: share(kvHeads), hidden: share(hidden) };
}

/** A model of a shape in a format, a mix, or a format with another of the output. */
export async function modelOf(shape: SyntheticShape, formats: string): Promise<SyntheticModel> {
  const mix = MIXES.find(({ name }) => name === formats);
  const [matrices, output] = (mix?.format ?? formats).split('+').map(formatCalled);
  const model = await syntheticModel(shape, matrices as TensorFormat);
  const all = [...model.tensors.values()];
  const mixed =
    mix && chooseFormats({ metadata: model.metadata, tensors: all }, { mix, hasImportance: false });
  const tensors = all.map((tensor) => {
    const other = tensor.name === 'output.weight' ? output : undefined;
    const format = mixed?.get(tensor.name) ?? other ?? tensor.format;
    const byteLength = (tensor.elementCount / format.blockElements) * format.blockBytes;
    return { ...tensor, format, byteLength };
  });
  return { ...model, tensors: new Map(tensors.map((tensor) => [tensor.name, tensor])) };
}

function formatCalled(name: string): TensorFormat {
  const format = formatNamed(name);
  if (!format) throw new Error(`no format or mix is called ${name}`);
  return format;
}
