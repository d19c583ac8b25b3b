import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger } from '../../src/base/log.ts';
import { OtlpTracing } from '../../src/node/otlp-tracing.ts';
import { attributeOf, collector, spansOf } from '../support/otlp-collector.ts';
import { post, tinyServer } from '../support/test-server.ts';

const ASK = { messages: [{ role: 'user', content: 'hi' }], temperature: 0, max_tokens: 4, ignore_eos: true };

test('a request sends its spans to a collector, below the span of its client', async (t) => {
  const { url, requests } = await collector(t);
  const tracing = await OtlpTracing.open({ endpoint: `${url}/`, version: '1.2.3', logger: silentLogger });
  const server = await tinyServer(t, { tracing });
  const [trace, parent] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
  const headers = { traceparent: `00-${trace}-${parent}-01` };
  const response = await server.fetch(post('/v1/chat/completions', { ...ASK, n: 2 }, { headers }));
  assert.equal(response.status, 200);
  const missing = await server.fetch(post('/v1/chat/completions', { ...ASK, model: 'other' }));
  assert.equal(missing.status, 404);
  await server.fetch(new Request('http://server/health'));
  await tracing[Symbol.asyncDispose]();
  assert.deepEqual([...new Set(requests.map(({ path }) => path))], ['/v1/traces']);
  assert.match(requests[0]?.body ?? '', /"service\.version","value":\{"stringValue":"1\.2\.3"\}/);
  const spans = spansOf(requests);
  const own = spans.filter(({ traceId }) => traceId === trace);
  const root = own.find(({ parentSpanId }) => parentSpanId === parent);
  assert.ok(root);
  assert.equal(root.name, 'POST /v1/chat/completions');
  const told = [
    'http.response.status_code',
    'gen_ai.operation.name',
    'gen_ai.response.model',
    'gen_ai.usage.output_tokens',
  ];
  assert.deepEqual(
    told.map((name) => attributeOf(root, name)),
    [200, 'chat', 'tiny', 8],
  );
  const parts = own.filter((span) => span.parentSpanId === root.spanId);
  assert.deepEqual(parts.map(({ name }) => name).sort(), [
    'decode',
    'decode',
    'prefill',
    'prefill',
    'prepare',
    'queue',
    'queue',
  ]);
  for (const { name, startTimeUnixNano: begin, endTimeUnixNano: end } of parts) {
    assert.ok(BigInt(begin) <= BigInt(end), name);
    assert.ok(BigInt(begin) >= BigInt(root.startTimeUnixNano), name);
  }
  const others = spans.filter(({ traceId }) => traceId !== trace);
  assert.deepEqual(
    others.map((span) => [span.name, span.parentSpanId, attributeOf(span, 'http.response.status_code')]),
    [['POST /v1/chat/completions', undefined, 404]],
    'a request without a trace begins one, and /health is none',
  );
});

test('a client’s decision not to sample is kept to, and a collector that refuses spans fails no request', async (t) => {
  const { url, requests } = await collector(t);
  const tracing = await OtlpTracing.open({ endpoint: url, version: '0', logger: silentLogger });
  const server = await tinyServer(t, { tracing });
  const headers = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00' };
  assert.equal((await server.fetch(post('/v1/chat/completions', ASK, { headers }))).status, 200);
  await tracing[Symbol.asyncDispose]();
  assert.deepEqual(requests, []);
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (message: string) => warnings.push(message) };
  const { url: refusing } = await collector(t, 400);
  const refused = await OtlpTracing.open({ endpoint: refusing, version: '0', logger });
  const other = await tinyServer(t, { tracing: refused });
  assert.equal((await other.fetch(post('/v1/chat/completions', ASK))).status, 200);
  await refused[Symbol.asyncDispose]();
  assert.deepEqual([...new Set(warnings)], ['tracing']);
});
