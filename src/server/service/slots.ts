import type { RequestContext } from '../request-context.ts';
import { getEndpoint, json } from '../endpoint.ts';

/** `GET /slots`: the running and waiting sequences of each loaded model. */
export const slotsEndpoint = getEndpoint({
  path: '/slots',
  summary: 'Lists the sequences that run or wait, model by model.',
  handle: slots,
});

function slots({ server }: RequestContext): Response {
  const models = server.pool.list().flatMap(({ id, model }) => {
    if (!model) return [];
    const { slots: count, context, sequences } = model.activity;
    const listed = sequences.map((sequence) => ({
      slot: sequence.slot < 0 ? null : sequence.slot,
      state: sequence.state,
      prompt_tokens: sequence.promptTokens,
      generated_tokens: sequence.generatedTokens,
      computed_tokens: sequence.computedTokens,
    }));
    return [{ model: id, slots: count, context, sequences: listed }];
  });
  return json({ active_requests: server.gate.active, parallel: server.gate.parallel, models });
}
