import { z } from 'zod';
import { logistic, type RankedDocument } from '../../engine/ranking.ts';
import { type Endpoint, invalid, json, postEndpoint } from '../endpoint.ts';
import { listOf } from '../fields/list-of.ts';
import { VECTOR_FIELDS } from '../fields/vector-fields.ts';
import { refuseAdapter } from '../generation/adapter-field.ts';
import { requireTextFits } from '../generation/prompt-bounds.ts';
import { modelField } from '../generation/sampling-fields.ts';

/** Maximum documents of a request. */
const MAX_DOCUMENTS = 2048;

const body = z.object({
  model: modelField,
  query: z.string(),
  documents: listOf(z.union([z.string(), z.object({ text: z.string() })]), { min: 1, max: MAX_DOCUMENTS })
    .optional()
    .describe('As in Jina’s and Cohere’s APIs.'),
  texts: listOf(z.string(), { min: 1, max: MAX_DOCUMENTS })
    .optional()
    .describe('As in Text Embeddings Inference; the answer then has its format.'),
  top_n: z.int().positive().nullish().describe('Number of results. Default: all.'),
  return_documents: z.boolean().nullish().describe('Whether results have the documents.'),
  return_text: z.boolean().nullish().describe('The same for texts.'),
  raw_scores: z
    .boolean()
    .nullish()
    .describe('With texts: false for probabilities. Default: scores as they leave the model.'),
});

type RerankBody = z.output<typeof body>;

/** `POST /v1/rerank` and its other names, as in llama.cpp's server: the best document first. */
export const [rerankEndpoint, rerankingEndpoint, v1RerankEndpoint, v1RerankingEndpoint] = [
  at('/rerank'),
  at('/reranking'),
  at('/v1/rerank'),
  at('/v1/reranking'),
];

function at(path: string): Endpoint {
  return postEndpoint({
    path,
    summary: 'Orders documents by how well they answer a query.',
    body,
    others: VECTOR_FIELDS,
    handle: async (request, call) => {
      const documents = documentsOf(request);
      const { pool, gate } = call.server;
      using _place = gate.admit(call.tenant);
      using lease = await pool.acquire(request.model ?? undefined, call.signal);
      refuseAdapter(lease);
      for (const text of [request.query, ...documents]) requireTextFits(lease.model, text);
      const top = request.top_n ?? documents.length;
      const ranking = await lease.model.rerank(request.query, documents, { top, signal: call.signal });
      const { results, tokens, isProbability } = ranking;
      call.countPrompt(lease.id, tokens);
      if (request.texts) {
        const isLogistic = request.raw_scores === false && !isProbability;
        return json(results.map((result) => writtenText(result, documents, { ...request, isLogistic })));
      }
      return json({
        model: lease.id,
        object: 'list',
        usage: { prompt_tokens: tokens, total_tokens: tokens },
        results: results.map(({ index, score }) => ({
          index,
          relevance_score: score,
          ...(request.return_documents && { document: { text: documents[index] } }),
        })),
      });
    },
  });
}

function documentsOf({ documents, texts }: RerankBody): readonly string[] {
  if (documents && texts) invalid('texts', 'there are documents as well');
  const given = documents ?? texts ?? invalid('documents', 'neither documents nor texts are there');
  return given.map((document) => (typeof document === 'string' ? document : document.text));
}

function writtenText(
  { index, score }: RankedDocument,
  documents: readonly string[],
  how: Pick<RerankBody, 'return_text'> & { readonly isLogistic: boolean },
): object {
  const written = how.isLogistic ? logistic(score) : score;
  return { index, score: written, ...(how.return_text && { text: documents[index] }) };
}
