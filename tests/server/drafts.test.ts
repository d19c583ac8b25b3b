import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { PrometheusMetrics } from '../../src/node/prometheus-metrics.ts';
import { ModelServer, type ServedModel } from '../../src/server/index.ts';
import { post } from '../support/test-server.ts';
import { tinyModel } from '../support/tiny-model.ts';

/** The tiny model, as its own draft or alone. */
async function serverOf(t: TestContext, isDrafted: boolean): Promise<ModelServer> {
  const model: ServedModel = {
    id: 'tiny',
    created: 0,
    open: async () => {
      const device = await openCpu({ threads: 1 });
      const draft = isDrafted ? { gguf: await tinyModel() } : undefined;
      const parts = { gguf: await tinyModel(), device, draft, architectures: ALL_ARCHITECTURES };
      return LanguageModel.open(parts, { sequences: 4, speculation: 3, runtime: { adaptsDrafts: false } });
    },
  };
  const server = new ModelServer({ models: [model], parallel: 4, metrics: new PrometheusMetrics() });
  t.after(() => server[Symbol.asyncDispose]());
  await server.loaded;
  return server;
}

const ASK = { prompt: [1, 70, 71, 72, 90], n_predict: 24, seed: 5 };

/** Whether drafts are used, and what the request has besides. */
const REQUESTS: readonly (readonly [boolean, object])[] = [
  [true, { temperature: 0 }],
  [true, { temperature: 1.2, top_k: 30, min_p: 0.02, repeat_penalty: 1.3 }],
  [true, { temperature: 1, n_probs: 3 }],
  [true, { temperature: 1, ignore_eos: true }],
  [false, { temperature: 1, grammar: 'root ::= [a-f]+' }],
  [false, { temperature: 1, dry_multiplier: 0.8 }],
  [false, { temperature: 1, mirostat: 2 }],
];

interface Answer {
  readonly content: string;
  readonly completion_probabilities?: unknown;
  readonly timings: { readonly draft_n?: number; readonly draft_n_accepted?: number };
}

async function answers(server: ModelServer): Promise<Answer[]> {
  const asked = REQUESTS.map(async ([, request]) => {
    const response = await server.fetch(post('/completion', { ...ASK, ...request }));
    assert.equal(response.status, 200, JSON.stringify(request));
    return (await response.json()) as Answer;
  });
  return Promise.all(asked);
}

test('requests of all kinds get the same answers with drafts, side by side, and say how many were right', async (t) => {
  const [server, plain] = [await serverOf(t, true), await serverOf(t, false)];
  const [drafted, expected] = [await answers(server), await answers(plain)];
  let [all, allAccepted] = [0, 0];
  for (const [i, { content, completion_probabilities: probabilities, timings }] of drafted.entries()) {
    const [isDrafted, request] = REQUESTS[i] as (typeof REQUESTS)[number];
    const same = expected[i] as Answer;
    assert.deepEqual([content, probabilities], [same.content, same.completion_probabilities]);
    const { draft_n: drafts, draft_n_accepted: accepted } = timings;
    // The draft does not know what is forbidden; otherwise, it draws the same tokens.
    const least = 'ignore_eos' in request ? 0.6 : 1;
    if (isDrafted)
      assert.ok((drafts ?? 0) > 12 && (accepted ?? 0) >= least * (drafts ?? 0), JSON.stringify(timings));
    else assert.equal(drafts, undefined, JSON.stringify(request));
    all += drafts ?? 0;
    allAccepted += accepted ?? 0;
  }
  const metrics = await (await server.fetch(new Request('http://server/metrics'))).text();
  const counted = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(metrics)?.[1]);
  for (const [kind, count] of Object.entries({ draft_tokens: all, accepted_tokens: allAccepted })) {
    assert.equal(counted(`vllm:spec_decode_num_${kind}_total\\{model_name="tiny"\\}`), count);
    assert.equal(counted(`llamacpp:spec_decode_num_${kind}_total`), count);
  }
  const steps = counted('vllm:spec_decode_num_drafts_total\\{model_name="tiny"\\}');
  const first = counted(
    'vllm:spec_decode_num_accepted_tokens_per_pos_total\\{model_name="tiny",position="0"\\}',
  );
  assert.ok(first > 0 && first <= steps, `${first} of ${steps}`);
});
