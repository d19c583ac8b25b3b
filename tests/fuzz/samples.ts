import { type GgufPlan, planSplits } from '../../src/gguf/index.ts';
import { fileOf, format, SMALL_PLAN } from '../support/gguf-files.ts';
import type { FileSet } from './try-open.ts';

/** Valid models to damage: every type and format, a vocabulary, a tiny one, a split one. */
export async function sampleModels(): Promise<FileSet[]> {
  const tiny: GgufPlan = {
    metadata: [['general.architecture', { type: 'string', value: 'llama' }]],
    tensors: [
      { name: 'a', format: format('Q4_0'), shape: [32, 2] },
      { name: 'b', format: format('F32'), shape: [3] },
    ],
  };
  const tokens = Array.from({ length: 500 }, (_, index) => `tök${index}`);
  const vocabulary: GgufPlan = {
    metadata: [
      ['tokenizer.ggml.tokens', { type: 'array', element: 'string', values: tokens }],
      ['tokenizer.ggml.scores', { type: 'array', element: 'f32', values: tokens.map((_, i) => -i) }],
    ],
    tensors: [],
  };
  const whole = [SMALL_PLAN, tiny, vocabulary].map(
    async (plan, index): Promise<FileSet> => new Map([[`model-${index}.gguf`, await fileOf(plan)]]),
  );
  const parts = planSplits({ ...SMALL_PLAN, tensors: SMALL_PLAN.tensors.slice(0, 9) }, 'split', {
    maxTensors: 3,
  });
  const split = Promise.all(parts.map(async ({ name, plan }) => [name, await fileOf(plan)] as const));
  return [...(await Promise.all(whole)), new Map(await split)];
}
