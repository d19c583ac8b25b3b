import type { Cost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import { maskWords, SAMPLING_ROW_WORDS } from './sampling/sampling-row.ts';
import type { BatchTensors, State, Tensor } from './value.ts';

/**
 * Samples a token for each output row: `tokens[o]` from `logits[o, :]` by the chain that `parameters[o, :]` describes
 * (`sampling/sampling-row.ts` holds the row's layout, `sampling/sample-row.ts` the meaning). `history` holds the ids of the
 * row's sequence up to its position, `masks` a bit for each token of the vocabulary by slot: where the row's parameters ask
 * for it, only tokens whose bit is set can be chosen. `report[o, :]` is written where the row asks for it: the chosen token's
 * log-probability and the most likely tokens with theirs, all before any stage of the chain, as pairs of (id as i32 bits,
 * natural log), first the choice. A row of which no token can be chosen has one of `NO_TOKEN` in the token's place.
 */
export interface SampleOp {
  readonly kind: 'sample';
  readonly logits: Tensor;
  readonly parameters: Tensor;
  readonly history: State;
  readonly masks: State;
  readonly batch: Pick<BatchTensors, 'outputRows' | 'slots' | 'positions'>;
  readonly tokens: Tensor;
  readonly report: Tensor;
}

/** Samples every output row: `tokens` i32 [outputs, 1], `report` f32 [outputs, 2 * (1 + alternatives)]. */
export function sample(
  g: Recorder<SampleOp>,
  of: { logits: Tensor; parameters: Tensor; history: State; masks: State; alternatives: number },
): { tokens: Tensor; report: Tensor } {
  const { logits, parameters, history, masks } = of;
  const fits = parameters.type === 'i32' && parameters.width === SAMPLING_ROW_WORDS;
  g.require(
    fits && parameters.axis === 'outputs',
    'sampling parameters are a row of words for each output row',
  );
  g.require(logits.axis === 'outputs', 'logits stand by output rows');
  const isMask = masks.type === 'i32' && masks.width === maskWords(logits.width);
  g.require(isMask && masks.rows === history.rows, 'masks hold a bit for each logit, a row for each slot');
  const tokens = g.temp('tokens', { axis: 'outputs', width: 1, type: 'i32' });
  const report = g.temp('report', { axis: 'outputs', width: 2 * (1 + of.alternatives) });
  const { outputRows, slots, positions } = g.batch;
  const batch = { outputRows, slots, positions };
  g.push({ kind: 'sample', logits, parameters, history, masks, batch, tokens, report });
  return { tokens, report };
}

/** Reads the logits once. */
export function sampleCost(op: SampleOp, outputs: number): Cost {
  return { bytes: 4 * outputs * op.logits.width, flops: 4 * outputs * op.logits.width };
}
