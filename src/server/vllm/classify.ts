import { z } from 'zod';
import { type Classification, logistic, softmax } from '../../engine/ranking.ts';
import { inputField } from '../embedding/embed-inputs.ts';
import { eachInput } from '../embedding/vectors.ts';
import { type Endpoint, json, postEndpoint } from '../endpoint.ts';
import { VECTOR_FIELDS } from '../fields/vector-fields.ts';
import { modelField } from '../generation/sampling-fields.ts';

const body = z.object({
  model: modelField,
  input: inputField,
  use_activation: z
    .boolean()
    .nullish()
    .describe('Whether scores are probabilities (default), or as they leave the model.'),
});

/** `POST /v1/classify` and `/classify`, as in vLLM: the probabilities of a classifier's labels. */
export const [v1ClassifyEndpoint, classifyEndpoint] = [at('/v1/classify'), at('/classify')];

function at(path: string): Endpoint {
  return postEndpoint({
    path,
    summary: 'Classifies texts, in the format of vLLM.',
    body,
    others: VECTOR_FIELDS,
    handle: async (request, call) => {
      const { signal } = call;
      const { model, made, tokens } = await eachInput(request, call, (of, ids) =>
        of.classify(ids, { signal }),
      );
      const isActivated = request.use_activation ?? true;
      return json({
        id: `classify-${call.id}`,
        object: 'list',
        created: Math.floor(Date.now() / 1000),
        model,
        data: made.map((of, index) => ({ index, ...labelled(of, isActivated) })),
        usage: { prompt_tokens: tokens, total_tokens: tokens },
      });
    },
  });
}

/** The best label with the scores of all: probabilities by a softmax, or by the logistic function if there is one. */
function labelled({ scores, labels, isProbability }: Classification, isActivated: boolean): object {
  const activated = scores.length === 1 ? scores.map(logistic) : softmax(scores);
  const probs = Array.from(isActivated && !isProbability ? activated : scores);
  const best = scores.indexOf(Math.max(...scores));
  return { label: labels[best] ?? `LABEL_${best}`, probs, num_classes: probs.length };
}
