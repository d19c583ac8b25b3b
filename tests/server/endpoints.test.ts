import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALIASES, ENDPOINTS } from '../../src/server/routes.ts';
import { eventsOf, post, tinyServer } from '../support/test-server.ts';

const GREEDY = { temperature: 0, max_tokens: 6, ignore_eos: true };
const ASK = { messages: [{ role: 'user', content: 'hi' }], ...GREEDY };

async function jsonOf(response: Response) {
  assert.equal(response.status, 200, await response.clone().text());
  return response.json() as Promise<Record<string, unknown>>;
}

test('a chat streamed is the same as the chat in one piece', async (t) => {
  const server = await tinyServer(t);
  const whole = await jsonOf(await server.fetch(post('/v1/chat/completions', ASK)));
  assert.equal(whole.object, 'chat.completion');
  const [choice] = whole.choices as { message: { content: string }; finish_reason: string }[];
  assert.equal(choice?.finish_reason, 'length');
  const options = { stream: true, stream_options: { include_usage: true } };
  const response = await server.fetch(post('/v1/chat/completions', { ...ASK, ...options }));
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
  const text = await response.text();
  assert.ok(text.endsWith('data: [DONE]\n\n'));
  const events = eventsOf(text) as { choices: { delta: { content?: string } }[]; usage: object }[];
  const said = events.map(({ choices: [first] }) => first?.delta.content ?? '').join('');
  assert.equal(said, choice?.message.content);
  const counts = (usage: unknown) => {
    const { prompt_tokens, completion_tokens, total_tokens } = usage as Record<string, number>;
    return [prompt_tokens, completion_tokens, total_tokens];
  };
  assert.deepEqual(counts(events.at(-1)?.usage), counts(whole.usage));
});

test('all four APIs give the same greedy answer and count the same tokens', async (t) => {
  const server = await tinyServer(t);
  const chat = await jsonOf(await server.fetch(post('/v1/chat/completions', { ...ASK, ignore_eos: false })));
  const expected = (chat.choices as { message: { content: string } }[])[0]?.message.content;
  const responses = await jsonOf(
    await server.fetch(post('/v1/responses', { input: 'hi', temperature: 0, max_output_tokens: 6 })),
  );
  const [item] = responses.output as { content: { text: string }[] }[];
  assert.equal(item?.content[0]?.text, expected);
  const ask = { messages: ASK.messages, temperature: 0, max_tokens: 6 };
  const message = await jsonOf(await server.fetch(post('/v1/messages', ask)));
  const [block] = message.content as { text: string }[];
  assert.equal(block?.text, expected);
  const prompt = await jsonOf(
    await server.fetch(post('/tokenize', { content: 'user: hi\n', add_special: true })),
  );
  const completion = await jsonOf(
    await server.fetch(post('/v1/completions', { prompt: prompt.tokens, temperature: 0, max_tokens: 6 })),
  );
  const [text] = completion.choices as { text: string }[];
  assert.equal(text?.text, expected);
  const { prompt_tokens: prompts, completion_tokens: generated } = completion.usage as Record<string, number>;
  assert.equal((chat.usage as Record<string, number>).prompt_tokens, prompts);
  const counted = responses.usage as Record<string, number>;
  assert.deepEqual([counted.input_tokens, counted.output_tokens], [prompts, generated]);
  const { input_tokens: fresh, cache_read_input_tokens: cached } = message.usage as Record<string, number>;
  assert.equal((fresh as number) + (cached as number), prompts);
  const count = await jsonOf(
    await server.fetch(post('/v1/messages/count_tokens', { messages: ASK.messages })),
  );
  assert.equal(count.input_tokens, prompts);
});

test('n choices of a seed differ from one another and repeat as a whole', async (t) => {
  const server = await tinyServer(t);
  const texts = async (seed: number) => {
    const ask = { ...ASK, n: 3, seed, temperature: 1.5, top_k: 0, top_p: 1, min_p: 0 };
    const answer = await jsonOf(await server.fetch(post('/v1/chat/completions', ask)));
    const choices = answer.choices as { index: number; message: { content: string } }[];
    assert.deepEqual(
      choices.map(({ index }) => index),
      [0, 1, 2],
    );
    return choices.map(({ message }) => message.content);
  };
  for (const seed of [7, Number.MAX_SAFE_INTEGER - 1]) {
    const first = await texts(seed);
    assert.equal(new Set(first).size, 3);
    assert.deepEqual(await texts(seed), first);
  }
});

test('choices share their prompt: all but its last positions are computed once', async (t) => {
  const server = await tinyServer(t);
  const ask = { ...ASK, messages: [{ role: 'user', content: 'x'.repeat(80) }] };
  type Answer = {
    choices: { message: object }[];
    usage: { prompt_tokens_details: { cached_tokens: number } };
  };
  const answer = async (body: object) =>
    (await jsonOf(await server.fetch(post('/v1/chat/completions', body)))) as unknown as Answer;
  const four = await answer({ ...ask, n: 4 });
  assert.equal(four.usage.prompt_tokens_details.cached_tokens, 64);
  const one = await answer(ask);
  for (const { message } of four.choices) assert.deepEqual(message, one.choices[0]?.message);
  const other = await answer({ ...ask, messages: [{ role: 'user', content: `${'x'.repeat(70)}y` }] });
  assert.ok(other.usage.prompt_tokens_details.cached_tokens >= 64, 'another request that begins alike');
  const cached = async (cache_salt: string) =>
    (await answer({ ...ask, cache_salt })).usage.prompt_tokens_details.cached_tokens;
  assert.deepEqual([await cached('a'), (await cached('a')) >= 64, await cached('b')], [0, true, 0]);
  assert.equal((await server.fetch(post('/v1/chat/completions', { ...ask, cache_salt: '' }))).status, 400);
});

test('log-probabilities come in both shapes and agree', async (t) => {
  const server = await tinyServer(t);
  const chat = await jsonOf(
    await server.fetch(post('/v1/chat/completions', { ...ASK, logprobs: true, top_logprobs: 3 })),
  );
  const [choice] = chat.choices as { logprobs: { content: { logprob: number; top_logprobs: object[] }[] } }[];
  const content = choice?.logprobs.content ?? [];
  assert.equal(content.length, 6);
  assert.ok(content.every(({ top_logprobs: top }) => top.length === 3));
  const { tokens } = await jsonOf(
    await server.fetch(post('/tokenize', { content: 'user: hi\n', add_special: true })),
  );
  const text = await jsonOf(
    await server.fetch(post('/v1/completions', { prompt: tokens, ...GREEDY, logprobs: 3 })),
  );
  const [older] = text.choices as { logprobs: { token_logprobs: number[]; text_offset: number[] } }[];
  assert.deepEqual(
    older?.logprobs.token_logprobs,
    content.map(({ logprob }) => logprob),
  );
  assert.equal(older?.logprobs.text_offset[0], 0);
});

test('a stop string ends the answer and is named by the API that names it', async (t) => {
  const server = await tinyServer(t);
  const bias = { 68: 100 };
  const forced = { messages: ASK.messages, temperature: 0, max_tokens: 9, logit_bias: bias };
  const plain = await jsonOf(await server.fetch(post('/v1/chat/completions', forced)));
  assert.equal((plain.choices as { message: { content: string } }[])[0]?.message.content, 'AAAAAAAAA');
  const stopped = await jsonOf(await server.fetch(post('/v1/chat/completions', { ...forced, stop: 'AAA' })));
  const [choice] = stopped.choices as { message: { content: string }; finish_reason: string }[];
  assert.deepEqual([choice?.message.content, choice?.finish_reason], ['', 'stop']);
});

test('tokens go there and back', async (t) => {
  const server = await tinyServer(t);
  const content = 'Grüße, 世界! hi';
  const { tokens } = await jsonOf(await server.fetch(post('/tokenize', { content })));
  assert.equal((await jsonOf(await server.fetch(post('/detokenize', { tokens })))).content, ` ${content}`);
  const { tokens: pieces } = await jsonOf(
    await server.fetch(post('/tokenize', { content, with_pieces: true })),
  );
  assert.equal((pieces as unknown[]).length, (tokens as unknown[]).length);
});

test('a long text does not keep others waiting', async (t) => {
  const server = await tinyServer(t);
  const answered: string[] = [];
  const tokenize = async (name: string, content: string) => {
    const response = await server.fetch(post('/tokenize', { content }));
    assert.equal(response.status, 200);
    answered.push(name);
  };
  await Promise.all([tokenize('long', 'hi there, '.repeat(20_000)), tokenize('short', 'hi')]);
  assert.deepEqual(answered, ['short', 'long']);
});

test('requests that cannot be meant get a typed error in the shape of their API', async (t) => {
  const server = await tinyServer(t);
  const long = 'x'.repeat(200);
  const cases: [path: string, body: unknown, status: number, code: string, param?: string][] = [
    ['/v1/chat/completions', {}, 400, 'REQUEST_INVALID', 'messages'],
    [
      '/v1/chat/completions',
      { messages: [{ role: 'nobody', content: 'x' }] },
      400,
      'REQUEST_INVALID',
      'messages.0.role',
    ],
    ['/v1/chat/completions', { ...ASK, n: 0 }, 400, 'REQUEST_INVALID', 'n'],
    ['/v1/chat/completions', { ...ASK, top_logprobs: 21 }, 400, 'REQUEST_INVALID', 'top_logprobs'],
    ['/v1/chat/completions', { ...ASK, temperature: -1 }, 400, 'REQUEST_INVALID', 'temperature'],
    ['/v1/chat/completions', { ...ASK, logit_bias: { x: 'y' } }, 400, 'REQUEST_INVALID', 'logit_bias'],
    ['/v1/chat/completions', { ...ASK, model: 'other' }, 404, 'model_not_found'],
    ['/v1/chat/completions', { messages: [{ role: 'user', content: long }] }, 400, 'context_length_exceeded'],
    [
      '/v1/chat/completions',
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] },
      400,
      'REQUEST_INVALID',
      'messages.0.content.0',
    ],
    ['/v1/completions', { prompt: [1, 2, 3_000_000] }, 400, 'TOKEN_OUT_OF_RANGE'],
    ['/v1/responses', { input: 'x', previous_response_id: 'y' }, 404, 'STORED_NOT_FOUND'],
    ['/v1/embeddings', { input: 'x' }, 400, 'EMBEDDINGS_UNSUPPORTED'],
    ['/detokenize', { tokens: [-1] }, 400, 'TOKEN_OUT_OF_RANGE'],
    ['/v1/nothing', {}, 404, 'ROUTE_NOT_FOUND'],
    ['/health', {}, 405, 'METHOD_NOT_ALLOWED'],
  ];
  for (const [path, body, status, code, param] of cases) {
    for (const stream of [false, true]) {
      const response = await server.fetch(post(path, { ...(body as object), stream }));
      const { error } = (await response.json()) as { error: Record<string, unknown> };
      assert.deepEqual([response.status, error.code, error.param], [status, code, param ?? null], path);
      assert.equal(typeof error.message, 'string');
    }
  }
  const anthropic = await server.fetch(post('/v1/messages', {}));
  const body = (await anthropic.json()) as { type: string; error: { type: string } };
  assert.deepEqual([anthropic.status, body.type, body.error.type], [400, 'error', 'invalid_request_error']);
  const bare = new Request('http://server/v1/chat/completions', { method: 'POST', body: '{}' });
  assert.equal((await server.fetch(bare)).status, 415);
});

test('bodies that are nested too deep are refused before anything walks through them', async (t) => {
  const server = await tinyServer(t);
  const nested = (levels: number) => '{"a":'.repeat(levels) + '0' + '}'.repeat(levels);
  const ask = async (levels: number) => {
    const schema = `{"type":"json_schema","json_schema":{"schema":${nested(levels)}}}`;
    const body = `{"messages":[{"role":"user","content":"[{\\"[{"}],"max_tokens":1,"response_format":${schema}}`;
    const response = await server.fetch(post('/v1/chat/completions', {}, { body }));
    return [response.status, ((await response.json()) as { error?: { code: string } }).error?.code];
  };
  assert.deepEqual(await ask(100), [400, 'GRAMMAR_INVALID']);
  assert.deepEqual(await ask(100_000), [400, 'REQUEST_INVALID']);
});

test('what clients send of earlier turns is read', async (t) => {
  const server = await tinyServer(t);
  const hi = { role: 'user', content: 'hi' };
  const count = async (messages: readonly object[], more: object = {}) => {
    const body = { model: 'tiny', messages, max_tokens: 1, ...more };
    const response = await server.fetch(post('/v1/messages', body));
    const { usage } = (await response.json()) as { usage?: Record<string, number> };
    return usage && (usage.input_tokens ?? 0) + (usage.cache_read_input_tokens ?? 0);
  };
  const said = { type: 'text', text: 'so' };
  const thoughts = [
    { type: 'thinking', thinking: 'hm', signature: 'x' },
    { type: 'redacted_thinking', data: 'x' },
  ];
  const plain = await count([hi, { role: 'assistant', content: [said] }, hi]);
  assert.equal(await count([hi, { role: 'assistant', content: [...thoughts, said] }, hi]), plain);
  assert.equal(await count([hi], { system: [] }), await count([hi]));
  for (const content of [[null], 5, {}, [[]]]) {
    const result = { type: 'tool_result', tool_use_id: 'a', content };
    const refused = await server.fetch(
      post('/v1/messages', { messages: [{ role: 'user', content: [result] }] }),
    );
    assert.equal(refused.status, 400);
  }
  const prompts = async (path: string, bodies: readonly object[]) => {
    const usages = bodies.map(async (body) => {
      const response = await server.fetch(post(path, body));
      const { usage } = (await response.json()) as { usage: Record<string, number> };
      return usage.prompt_tokens ?? usage.input_tokens;
    });
    return new Set(await Promise.all(usages)).size;
  };
  const output = (of: unknown) => [{ type: 'function_call_output', call_id: 'a', output: of }];
  const parts = [{ type: 'input_text', text: 'r' }];
  const outputs = [{ input: output('r') }, { input: output(parts) }];
  assert.equal(await prompts('/v1/responses', outputs), 1);
  const lists = [[3, 4], [[3, 4]]].map((prompt) => ({ prompt, max_tokens: 1 }));
  assert.equal(await prompts('/v1/completions', lists), 1);
});

test('the OpenAPI document describes every endpoint and what its body must be', async (t) => {
  const server = await tinyServer(t);
  const document = await jsonOf(await server.fetch(new Request('http://server/openapi.json')));
  const paths = document.paths as Record<string, Record<string, { requestBody?: object }>>;
  for (const { path, method, body } of ENDPOINTS.filter((endpoint) => endpoint.path !== '/openapi.json')) {
    const operation = paths[path]?.[method.toLowerCase()];
    assert.ok(operation, path);
    assert.equal(operation.requestBody !== undefined, body !== undefined, path);
  }
});

test('llama.cpp’s paths lead to the same endpoints', async (t) => {
  const server = await tinyServer(t);
  const texts = async (path: string, body: object) => {
    const { choices, content } = await jsonOf(await server.fetch(post(path, body)));
    return choices ?? content;
  };
  assert.deepEqual(await texts('/chat/completions', ASK), await texts('/v1/chat/completions', ASK));
  const continued = { prompt: 'hi', n_predict: 4, temperature: 0 };
  assert.deepEqual(await texts('/completions', continued), await texts('/completion', continued));
  for (const [alias, path] of ALIASES) {
    assert.ok(
      ENDPOINTS.some((endpoint) => endpoint.path === path),
      path,
    );
    const { status } = await server.fetch(new Request(`http://server${alias}`));
    assert.notEqual(status, 404, alias);
  }
});

test('unknown names stand for the first model where that is allowed', async (t) => {
  const strict = await tinyServer(t);
  const named = post('/v1/chat/completions', { ...ASK, model: 'gpt-4' });
  assert.equal((await strict.fetch(named.clone())).status, 404);
  const server = await tinyServer(t, { anyModel: true });
  assert.equal((await jsonOf(await server.fetch(named))).model, 'tiny');
});

test('a prompt that is too long is refused in the words of llama.cpp’s server, too', async (t) => {
  const server = await tinyServer(t);
  const long = { messages: Array.from({ length: 100 }, () => ({ role: 'user', content: 'hi hi hi' })) };
  const response = await server.fetch(post('/v1/chat/completions', long));
  const { error } = (await response.json()) as { error: Record<string, unknown> };
  const { type, code, n_ctx, n_prompt_tokens: tokens } = error;
  assert.deepEqual([response.status, type, n_ctx], [400, 'exceed_context_size_error', 128]);
  assert.equal(code, 'context_length_exceeded');
  assert.ok((tokens as number) > 128);
});

test('models and slots say what is there', async (t) => {
  const server = await tinyServer(t);
  const { data } = await jsonOf(await server.fetch(new Request('http://server/v1/models')));
  const [listed] = data as { id: string; context_length: number }[];
  assert.deepEqual([listed?.id, listed?.context_length], ['tiny', 128]);
  assert.deepEqual(await jsonOf(await server.fetch(new Request('http://server/v1/models/tiny'))), listed);
  assert.equal((await server.fetch(new Request('http://server/v1/models/none'))).status, 404);
  const response = await server.fetch(
    post('/v1/chat/completions', { ...ASK, max_tokens: 100, stream: true }),
  );
  const states = await (await server.fetch(new Request('http://server/slots'))).json();
  const slots = states as { id: number; n_ctx: number; is_processing: boolean }[];
  assert.deepEqual(
    slots.map(({ id, n_ctx }) => [id, n_ctx]),
    [0, 1, 2, 3].map((id) => [id, 128]),
  );
  assert.equal(slots.filter((slot) => slot.is_processing).length, 1);
  await response.body?.cancel();
  const closed = await tinyServer(t, { disabled: ['slots', 'metrics'] });
  for (const path of ['/slots', '/metrics']) {
    assert.equal((await closed.fetch(new Request(`http://server${path}`))).status, 501);
  }
});
