import type { TensorFormat } from '../formats/index.ts';
import { GgufFile, type GgufPlan, GgufWriter } from '../gguf/index.ts';
import { type ByteSink, MemorySink, MemorySource } from '../io/index.ts';
import { type RandomWeightsOptions, writeRandomWeights } from '../model/synthetic/random-weights.ts';
import type { SyntheticShape } from '../model/synthetic-family.ts';
import { type SyntheticPlanOptions, syntheticPlan } from '../model/synthetic/synthetic-plan.ts';
import { chooseFormats } from '../quantize/choose-formats.ts';
import type { Mix } from '../quantize/mixes.ts';
import { writeWhole } from './write-whole.ts';

/** What model is written, and where. */
export interface SyntheticModelRequest extends SyntheticPlanOptions, RandomWeightsOptions {
  readonly path: string;
  /** The value of `general.name`. */
  readonly name: string;
  readonly shape: SyntheticShape;
  /** Chooses formats as `quantize` does for a file in `format`. */
  readonly mix?: Mix | undefined;
}

/**
 * Writes a GGUF file of random weights and returns its length in bytes. Rejects with `INVALID_ARGUMENT`, `WRITE_FAILED` or `ABORTED`.
 */
export async function writeSyntheticModel(request: SyntheticModelRequest): Promise<number> {
  const { name, shape, mix, outputFormat } = request;
  const planned = await syntheticPlan(name, shape, request);
  const plan = mix ? await mixed(planned, mix, outputFormat) : planned;
  const write = async (sink: ByteSink) => {
    const writer = await GgufWriter.begin(sink, plan);
    await writeRandomWeights(writer, request);
    return writer.layout.byteLength;
  };
  return writeWhole(request.path, write, request.signal);
}

/** The plan with the formats of a mix. */
async function mixed(plan: GgufPlan, mix: Mix, outputFormat: TensorFormat | undefined): Promise<GgufPlan> {
  const metadata = [...plan.metadata, ['general.file_type', { type: 'u32', value: mix.fileType }] as const];
  const sink = new MemorySink();
  await GgufWriter.begin(sink, { metadata, tensors: [] });
  await using header = await GgufFile.open(new MemorySource(sink.bytes(), 'synthetic'));
  const { tensors } = plan;
  const formats = chooseFormats(
    { metadata: header.metadata, tensors },
    { mix, outputFormat, hasImportance: false },
  );
  const withFormats = tensors.map((tensor) => ({
    ...tensor,
    format: formats.get(tensor.name) ?? tensor.format,
  }));
  return { ...plan, metadata, tensors: withFormats };
}
