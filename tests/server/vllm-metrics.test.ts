import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadModel } from '../../src/index.ts';
import { PrometheusMetrics } from '../../src/node/prometheus-metrics.ts';
import { ModelServer } from '../../src/server/index.ts';
import { LORA_BASE, LORA_FILES } from '../support/lora-fixtures.ts';
import { post } from '../support/test-server.ts';

const ENDPOINT = '/v1/completions';
const ASK = { prompt: [1, 2, 3, 4], temperature: 0, ignore_eos: true };

test('a fleet reads by vLLM’s names what runs and waits, the use of the cache, adapters, and how long it all took', async (t) => {
  const options = {
    device: 'cpu',
    threads: 1,
    context: 64,
    sequences: 1,
    adapters: { first: LORA_FILES.first ?? '', second: LORA_FILES.second ?? '' },
  } as const;
  const model = { id: 'base', created: 0, open: () => loadModel(LORA_BASE, options) };
  const server = new ModelServer({ models: [model], parallel: 1, metrics: new PrometheusMetrics() });
  t.after(() => server[Symbol.asyncDispose]());
  await server.loaded;
  const read = async () => {
    const text = await (await server.fetch(new Request('http://server/metrics'))).text();
    const lines = Array.from(
      text.matchAll(/^vllm:(\S+) (\S+)$/gm),
      ([, name, value]) => [name, Number(value)] as const,
    );
    return new Map(lines);
  };
  const idle = await read();
  assert.equal(idle.get('num_requests_running{model_name="base"}'), 0);
  assert.equal(idle.get('kv_cache_usage_perc{model_name="base"}'), 0);
  assert.equal(idle.get('cache_config_info{model_name="base",block_size="32",num_gpu_blocks="2"}'), 1);
  // Nobody reads this stream yet, so that its sequence pauses and keeps its slot until somebody wants it.
  const lora = [{ id: 'second', scale: 1 }];
  const running = await server.fetch(post(ENDPOINT, { ...ASK, lora, max_tokens: 50, stream: true }));
  const of = 'model_name="base"';
  for (;;) {
    const now = await read();
    const adapters = `lora_requests_info{${of},max_lora="2",running_lora_adapters="second",waiting_lora_adapters=""}`;
    if (now.get(`num_requests_running{${of}}`) !== 1) continue;
    assert.equal(now.get(`num_requests_waiting{${of}}`), 0);
    assert.ok((now.get(adapters) ?? 0) > 1.7e9, 'when that was');
    assert.ok((now.get(`kv_cache_usage_perc{${of}}`) ?? 0) > 0);
    break;
  }
  await running.text();
  const whole = await server.fetch(post(ENDPOINT, { ...ASK, max_tokens: 3 }));
  assert.equal(whole.status, 200);
  const after = await read();
  const by = `{${of}}`;
  assert.equal(after.get(`generation_tokens_total${by}`), 53);
  assert.equal(after.get(`prompt_tokens_total${by}`), 8);
  assert.equal(after.get(`prefix_cache_queries_total${by}`), 8);
  assert.equal(after.get(`request_success_total{${of},finished_reason="length"}`), 2);
  const counts = (name: string) => after.get(`${name}_count{${of},endpoint="${ENDPOINT}"}`);
  assert.deepEqual(
    [counts('time_to_first_token_seconds'), counts('inter_token_latency_seconds')],
    [2, 49 + 2],
    'each token is counted once',
  );
  for (const part of ['queue', 'prefill', 'decode'])
    assert.equal(counts(`request_${part}_time_seconds`), 2, part);
});
