import { GgufWriter } from '../gguf/index.ts';
import { type RandomWeightsOptions, writeRandomWeights } from '../model/synthetic/random-weights.ts';
import type { SyntheticShape } from '../model/synthetic-family.ts';
import { type SyntheticPlanOptions, syntheticPlan } from '../model/synthetic/synthetic-plan.ts';
import { writeWhole } from './write-whole.ts';

/** What model is written, and where. */
export interface SyntheticModelRequest extends SyntheticPlanOptions, RandomWeightsOptions {
  readonly path: string;
  /** The value of `general.name`. */
  readonly name: string;
  readonly shape: SyntheticShape;
}

/**
 * Writes a GGUF file of random weights and returns its length in bytes. Rejects with `INVALID_ARGUMENT`, `WRITE_FAILED` or `ABORTED`.
 */
export async function writeSyntheticModel(request: SyntheticModelRequest): Promise<number> {
  const plan = await syntheticPlan(request.name, request.shape, request);
  return writeWhole(request.path, async (sink) => {
    const writer = await GgufWriter.begin(sink, plan);
    await writeRandomWeights(writer, request);
    return writer.layout.byteLength;
  });
}
