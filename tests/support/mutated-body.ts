const tool = { name: 'f', parameters: { type: 'object', properties: { a: { type: 'integer' } } } };
const messages = [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }];
const SEEDS: readonly (readonly [path: string, body: unknown])[] = [
  [
    '/v1/chat/completions',
    {
      messages,
      max_tokens: 1,
      temperature: 0.5,
      n: 1,
      stop: ['x'],
      logit_bias: { 5: 1 },
      logprobs: true,
      top_logprobs: 2,
      stream: true,
      stream_options: { include_usage: true },
      tools: [{ type: 'function', function: tool }],
      tool_choice: 'none',
    },
  ],
  ['/v1/chat/completions', { messages, max_tokens: 1, response_format: { type: 'json_object' }, seed: 3 }],
  ['/v1/completions', { prompt: [5, 6, 7], max_tokens: 1, logprobs: 1, echo: true, top_k: 4, min_p: 0.1 }],
  ['/v1/responses', { input: [{ role: 'user', content: 'hi' }], max_output_tokens: 1, instructions: 'x' }],
  ['/v1/messages', { messages, max_tokens: 1, system: 'x', stop_sequences: ['y'], stream: true }],
  ['/tokenize', { content: 'hi', with_pieces: true }],
  ['/detokenize', { tokens: [4, 5, 6] }],
];

const STRANGE = [
  null,
  true,
  -1,
  0,
  1e308,
  2 ** 53,
  '',
  'x'.repeat(300),
  [],
  {},
  [[]],
  '\ud800',
  -0.5,
  'NaN',
  { a: { b: {} } },
];

/** A value with a randomly chosen part replaced, removed or duplicated. */
function changed(value: unknown, random: () => number): unknown {
  const pick = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)] as T;
  if (typeof value !== 'object' || value === null || random() < 0.15) return pick(STRANGE);
  const keys = Object.keys(value);
  if (keys.length === 0) return pick(STRANGE);
  const copy = structuredClone(value) as Record<string, unknown>;
  const key = pick(keys);
  const what = random();
  if (what < 0.15 && !Array.isArray(copy)) delete copy[key];
  else if (what < 0.3 && Array.isArray(copy)) copy.push(...(copy as unknown[]));
  else copy[key] = changed(copy[key], random);
  return copy;
}

/** A text with some characters replaced, removed or repeated. */
function garbled(text: string, random: () => number): string {
  let result = text;
  for (let times = 1 + Math.floor(random() * 4); times > 0; times--) {
    const at = Math.floor(random() * result.length);
    const length = Math.floor(random() * 8);
    const noise = String.fromCharCode(Math.floor(random() * 128));
    const inserted = random() < 0.5 ? noise : result.slice(at, at + length);
    result = result.slice(0, at) + inserted + result.slice(at + (random() < 0.5 ? length : 0));
  }
  return result;
}

/** A valid body of some endpoint, with a few parts or characters changed. */
export function mutatedBody(random: () => number): { path: string; body: string } {
  const [path, valid] = SEEDS[Math.floor(random() * SEEDS.length)] as (typeof SEEDS)[number];
  let value = valid;
  for (let times = 1 + Math.floor(random() * 3); times > 0; times--) value = changed(value, random);
  const whole = JSON.stringify(value);
  return { path, body: random() < 0.4 ? garbled(whole, random) : whole };
}
