import { z } from 'zod';
import { type Endpoint, invalid, json, postEndpoint } from '../endpoint.ts';
import { listOf } from '../fields/list-of.ts';
import { answerInner } from '../inner-request.ts';
import type { RequestContext } from '../request-context.ts';

/** Maximum instances of a request. */
const MAX_INSTANCES = 128;

const FORMAT = '@requestFormat';

const body = z.object({
  instances: listOf(z.looseObject({ [FORMAT]: z.string() }), { min: 1, max: MAX_INSTANCES }).describe(
    'Requests to other endpoints, each with the endpoint as @requestFormat: chatCompletions, or its path.',
  ),
});

/**
 * `POST /predict`, as Vertex AI calls its containers (custom container requirements, "Prediction"), in the form of
 * llama.cpp's server: each instance is a request to one of the endpoints, and its prediction the answer, also if that is
 * an error.
 */
export function predictEndpoint(endpoints: readonly Endpoint[]): Endpoint {
  const known = new Map<string, Endpoint>();
  for (const endpoint of endpoints) {
    if (!endpoint.body || endpoint.path.includes('{')) continue;
    known.set(endpoint.path, endpoint);
    const name = formatOf(endpoint.path);
    if (!known.has(name)) known.set(name, endpoint);
  }
  return postEndpoint({
    path: '/predict',
    summary: 'Carries out several requests at once, as Vertex AI sends them.',
    body,
    handle: ({ instances }, call) => predict(instances, known, call),
  });
}

async function predict(
  instances: readonly Readonly<Record<string, unknown>>[],
  known: ReadonlyMap<string, Endpoint>,
  { server, caller, signal }: RequestContext,
): Promise<Response> {
  const requests = instances.map(({ [FORMAT]: format, ...fields }, at) => {
    const endpoint = known.get(String(format));
    return {
      endpoint: endpoint ?? invalid(`instances.${at}.${FORMAT}`, 'there is no such endpoint'),
      fields,
    };
  });
  const stop = new AbortController();
  const onAbort = () => stop.abort();
  signal.addEventListener('abort', onAbort);
  const predictions: unknown[] = [];
  let next = 0;
  const work = async () => {
    while (next < requests.length) {
      const at = next++;
      const { endpoint, fields } = requests[at] as (typeof requests)[number];
      const answer = await answerInner(server, { endpoint, body: fields, caller }, stop.signal);
      predictions[at] = valueOf(answer.body);
    }
  };
  try {
    // As many as run at once: others would only take places of the queue.
    await Promise.all(Array.from({ length: server.gate.parallel }, work));
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
  return json({ predictions });
}

/** An answer's value; what is not JSON is its text. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The name of an endpoint's path in camel case, without the version: `chatCompletions`. */
function formatOf(path: string): string {
  return path
    .replace(/^(?:\/v1)?\//, '')
    .replaceAll(/[/_-]+([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
