import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { silentLogger } from '../../src/base/log.ts';
import { OtlpTracing } from '../../src/node/otlp-tracing.ts';
import { post, tinyServer } from '../support/test-server.ts';

const ASK = { messages: [{ role: 'user', content: 'hi' }], temperature: 0, max_tokens: 4, ignore_eos: true };

/** A span as OTLP's JSON has it (opentelemetry-proto, `trace.proto`). */
interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
  readonly status: { readonly code?: number };
}

/** A collector at a socket of its own, which answers all that is sent there with a status. */
async function collector(
  t: TestContext,
  status = 200,
): Promise<{ url: string; requests: { path: string; body: string }[] }> {
  const requests: { path: string; body: string }[] = [];
  const server = createServer((request, response) => {
    void textOf(request).then((body) => {
      requests.push({ path: request.url ?? '', body });
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString('utf8');
}

function spansOf(requests: readonly { body: string }[]): SentSpan[] {
  type Sent = { resourceSpans: { scopeSpans: { spans: SentSpan[] }[] }[] };
  return requests.flatMap(({ body }) =>
    (JSON.parse(body) as Sent).resourceSpans.flatMap(({ scopeSpans }) =>
      scopeSpans.flatMap(({ spans }) => spans),
    ),
  );
}

function attributeOf({ attributes }: SentSpan, name: string): unknown {
  return Object.values(attributes.find(({ key }) => key === name)?.value ?? {})[0];
}

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
