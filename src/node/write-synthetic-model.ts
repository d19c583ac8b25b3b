import { rm } from 'node:fs/promises';
import { GgufWriter } from '../gguf/index.ts';
import { type RandomWeightsOptions, writeRandomWeights } from '../model/synthetic/random-weights.ts';
import type { SyntheticShape } from '../model/synthetic/shapes.ts';
import { type SyntheticPlanOptions, syntheticPlan } from '../model/synthetic/synthetic-plan.ts';
import { FileSink } from './file-sink.ts';

/** What model is written, and where. */
export interface SyntheticModelRequest extends SyntheticPlanOptions, RandomWeightsOptions {
  readonly path: string;
  /** Goes into `general.name`. */
  readonly name: string;
  readonly shape: SyntheticShape;
}

/**
 * Writes a GGUF file of random weights and returns its length in bytes. On failure or abort no file is left. Rejects with
 * `INVALID_ARGUMENT`, `WRITE_FAILED` or `ABORTED`.
 */
export async function writeSyntheticModel(request: SyntheticModelRequest): Promise<number> {
  const plan = await syntheticPlan(request.name, request.shape, request);
  const sink = await FileSink.create(request.path);
  try {
    const writer = await GgufWriter.begin(sink, plan);
    await writeRandomWeights(writer, request);
    await sink.dispose();
    return writer.layout.byteLength;
  } catch (error) {
    await sink.dispose();
    await rm(request.path, { force: true });
    throw error;
  }
}
