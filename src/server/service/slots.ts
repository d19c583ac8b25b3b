import type { EngineActivity } from '../../engine/engine-setup.ts';
import type { RequestContext } from '../request-context.ts';
import { getEndpoint, json } from '../endpoint.ts';

/** `GET /slots`, as in llama.cpp's server: the slots of each loaded model. */
export const slotsEndpoint = getEndpoint({
  path: '/slots',
  summary: 'Lists the slots of the loaded models with the sequences in them.',
  handle: ({ server }: RequestContext) =>
    json(server.pool.list().flatMap(({ id, model }) => (model ? slotsOf(id, model.activity) : []))),
});

function slotsOf(model: string, { slots, context, sequences }: EngineActivity): object[] {
  return Array.from({ length: slots }, (_, id) => {
    const sequence = sequences.find(({ slot }) => slot === id);
    return {
      id,
      model,
      n_ctx: context,
      is_processing: sequence !== undefined,
      state: sequence?.state ?? 'idle',
      n_prompt_tokens: sequence?.promptTokens ?? 0,
      n_computed_tokens: sequence?.computedTokens ?? 0,
      n_draft_now: sequence?.draftTokens ?? 0,
      n_draft_total: sequence?.proposedTokens ?? 0,
      n_draft_accepted: sequence?.acceptedTokens ?? 0,
      next_token: [
        { has_next_token: sequence !== undefined, n_remain: -1, n_decoded: sequence?.generatedTokens ?? 0 },
      ],
    };
  });
}
