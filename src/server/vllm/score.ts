import { z } from 'zod';
import { someAtOnce } from '../../base/some-at-once.ts';
import { logistic, type Ranking } from '../../engine/ranking.ts';
import { type Endpoint, invalid, json, postEndpoint } from '../endpoint.ts';
import { listOf } from '../fields/list-of.ts';
import { VECTOR_FIELDS } from '../fields/vector-fields.ts';
import { refuseAdapter } from '../generation/adapter-field.ts';
import { requireTextFits } from '../generation/prompt-bounds.ts';
import { modelField } from '../generation/sampling-fields.ts';

/** Maximum pairs of a request. */
const MAX_PAIRS = 2048;

const text = z.union([z.string(), listOf(z.string(), { min: 1, max: MAX_PAIRS })]);

const body = z.object({
  model: modelField,
  text_1: text.describe('A text for all pairs, or one for each.'),
  text_2: text.describe('The texts that it is paired with.'),
  use_activation: z
    .boolean()
    .nullish()
    .describe('Whether scores are probabilities (default), or as they leave the model.'),
});

/** `POST /v1/score` and `/score`, as in vLLM: how well the second text of each pair answers the first. */
export const [v1ScoreEndpoint, scoreEndpoint] = [at('/v1/score'), at('/score')];

function at(path: string): Endpoint {
  return postEndpoint({
    path,
    summary: 'Scores pairs of texts, in the format of vLLM.',
    body,
    others: VECTOR_FIELDS,
    handle: async (request, call) => {
      const { pool, gate } = call.server;
      const { signal } = call;
      using _place = gate.admit(call.tenant);
      using lease = await pool.acquire(request.model ?? undefined, signal);
      refuseAdapter(lease);
      const { model } = lease;
      const { query, documents } = pairsOf(request);
      for (const one of [query, documents].flat()) requireTextFits(model, one);
      const rankings =
        typeof query === 'string'
          ? [await model.rerank(query, documents, { signal })]
          : await someAtOnce(query, model.activity.slots, (one, index) =>
              model.rerank(one, [documents[index] ?? ''], { signal }),
            );
      const scores = rankings.flatMap((ranking) => inOrder(ranking, request.use_activation ?? true));
      const tokens = rankings.reduce((sum, ranking) => sum + ranking.tokens, 0);
      call.countPrompt(lease.id, tokens);
      return json({
        id: `score-${call.id}`,
        object: 'list',
        created: Math.floor(Date.now() / 1000),
        model: lease.id,
        data: scores.map((score, index) => ({ index, object: 'score', score })),
        usage: { prompt_tokens: tokens, total_tokens: tokens },
      });
    },
  });
}

/** One query for all documents, or one for each. */
function pairsOf({ text_1: first, text_2: second }: z.output<typeof body>): {
  query: string | readonly string[];
  documents: readonly string[];
} {
  const documents = typeof second === 'string' ? [second] : second;
  const [only] = first;
  if (typeof first === 'string') return { query: first, documents };
  if (first.length === 1 && only !== undefined) return { query: only, documents };
  if (first.length === documents.length) return { query: first, documents };
  return invalid('text_2', `${first.length} and ${documents.length} texts make no pairs`);
}

/** The scores in the order of the documents. */
function inOrder({ results, isProbability }: Ranking, isActivated: boolean): number[] {
  const scores = new Array<number>(results.length).fill(Number.NaN);
  for (const { index, score } of results) {
    scores[index] = isActivated && !isProbability ? logistic(score) : score;
  }
  return scores;
}
