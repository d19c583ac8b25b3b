import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

/** A span in OTLP's JSON encoding (opentelemetry-proto, `trace.proto`). */
export interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
  readonly status: { readonly code?: number };
}

/** A collector on its own socket, which answers every request with a status. */
export async function collector(
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

/** The spans in all requests to a collector. */
export function spansOf(requests: readonly { body: string }[]): SentSpan[] {
  type Sent = { resourceSpans: { scopeSpans: { spans: SentSpan[] }[] }[] };
  return requests.flatMap(({ body }) =>
    (JSON.parse(body) as Sent).resourceSpans.flatMap(({ scopeSpans }) =>
      scopeSpans.flatMap(({ spans }) => spans),
    ),
  );
}

/** The value of a span’s attribute. */
export function attributeOf({ attributes }: SentSpan, name: string): unknown {
  return Object.values(attributes.find(({ key }) => key === name)?.value ?? {})[0];
}
