import type { ModelServer } from '../../src/server/index.ts';
import { post } from './test-server.ts';

/** Fields of a request. */
export type Fields = Readonly<Record<string, unknown>>;

/** The parts of an answer that tests of fields examine, in any API. */
export interface FieldAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  /** The fields that the response reports as ignored; null for none. */
  readonly ignored: string | null;
  /** The whole text of the first choice. */
  readonly text: string;
  readonly choices: number;
  /** Tokens. */
  readonly prompt: number;
  readonly generated: number;
}

/** A short request for a text endpoint. */
export function plainRequest(path: string): Fields {
  const messages = [{ role: 'user', content: 'hi' }];
  if (path.endsWith('/count_tokens')) return { messages };
  const how = { seed: 1, ignore_eos: true };
  if (path.startsWith('/api/')) {
    const asked = path.endsWith('/chat') ? { messages } : { prompt: 'hi' };
    return { model: 'tiny', ...asked, stream: false, options: { num_predict: 6, ...how } };
  }
  if (path === '/infill') return { input_prefix: 'hi', input_suffix: 'hi', n_predict: 6, ...how };
  if (path === '/completion') return { prompt: 'hi', n_predict: 6, ...how };
  if (path.endsWith('/responses')) return { input: 'hi', max_output_tokens: 6, ...how };
  return { ...(path.endsWith('/v1/completions') ? { prompt: 'hi' } : { messages }), max_tokens: 6, ...how };
}

/** The answer to that request with other fields. */
export async function fieldAnswer(server: ModelServer, path: string, fields: Fields): Promise<FieldAnswer> {
  const response = await server.fetch(post(path, { ...plainRequest(path), ...fields }));
  const body = await response.text();
  const type = response.headers.get('content-type') ?? '';
  const ignored = response.headers.get('x-rocmforge-ignored-fields');
  const said = type.startsWith('application/json') ? (JSON.parse(body) as Said) : {};
  const { usage = {}, choices = [] } = said;
  const prompt =
    usage.prompt_tokens ??
    said.tokens_evaluated ??
    said.prompt_eval_count ??
    said.input_tokens ??
    (usage.input_tokens ?? 0) + (usage.cache_read_input_tokens ?? 0);
  const generated =
    usage.completion_tokens ?? said.tokens_predicted ?? said.eval_count ?? usage.output_tokens ?? 0;
  const facts = { text: textOf(said), choices: choices.length, prompt, generated };
  return { status: response.status, type, body, ignored, ...facts };
}

interface Said {
  readonly choices?: readonly { readonly text?: string; readonly message?: { readonly content: string } }[];
  readonly output?: readonly { readonly content?: readonly { readonly text: string }[] }[];
  readonly content?: string | readonly { readonly text: string }[];
  readonly message?: { readonly content: string };
  readonly response?: string;
  readonly prompt_eval_count?: number;
  readonly eval_count?: number;
  readonly tokens_evaluated?: number;
  readonly tokens_predicted?: number;
  readonly usage?: Readonly<Record<string, number | undefined>>;
  readonly input_tokens?: number;
}

function textOf({ choices, output, content, message, response }: Said): string {
  if (typeof content === 'string') return content;
  if (message || response !== undefined) return message?.content ?? response ?? '';
  const [choice] = choices ?? [];
  return (
    choice?.text ?? choice?.message?.content ?? output?.[0]?.content?.[0]?.text ?? content?.[0]?.text ?? ''
  );
}
