import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { ModelServer, type ServedModel } from '../../src/server/index.ts';
import { TEXT_ENDPOINTS } from '../support/fields-page.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { type Fields, type FieldAnswer, fieldAnswer, plainRequest } from '../support/field-answers.ts';
import { post } from '../support/test-server.ts';
import { tinyModel } from '../support/tiny-model.ts';

let server: ModelServer;
before(async () => {
  server = new ModelServer({ models: [infillSource()], parallel: 4 });
  await server.loaded;
});
after(() => server?.[Symbol.asyncDispose]());

/** The tiny model with tokens for filling in: three of its bytes. */
function infillSource(): ServedModel {
  const token = (value: number) => ({ type: 'u32', value }) as const;
  const names = ['fim_pre', 'fim_suf', 'fim_mid'];
  const changed = names.map((name, at) => [`tokenizer.ggml.${name}_token_id`, token(10 + at)] as const);
  return {
    id: 'tiny',
    created: 1_700_000_000,
    open: async () => {
      const gguf = await tinyModel(
        'F32',
        changed.map(([name, value]) => [name, value]),
      );
      const device = await openCpu({ threads: 1, memoryLimit: 2 ** 30 });
      return LanguageModel.open({ gguf, device, architectures: ALL_ARCHITECTURES }, { sequences: 4 });
    },
  };
}

type Ask = (fields: Fields) => Promise<FieldAnswer>;

/** The tiny model's tokens of `A` and `B`, and its end. */
const [A, B, END] = [68, 69, 2];
/** The control token that texts begin with. */
const BEGIN = 1;
/** Says `AAAAAA`, and what follows behind `A` by its own weight. */
const SAYS_A = { temperature: 0, logit_bias: { [A]: 50 } };
/** Ends at once, where it may. */
const ENDS = { temperature: 0, logit_bias: { [END]: 100 }, ignore_eos: false };
/** Draws from all tokens, nearly alike. */
const DRAWS = { temperature: 20, top_k: 0, top_p: 1, min_p: 0, seed: 1 };
const NEARLY_GREEDY = { ...DRAWS, temperature: 0.001 };
const ABC = 'root ::= "abc"';

/** A field at which drawing cannot but take the likeliest token. */
const greedy = (fields: Fields) => async (ask: Ask) => {
  assert.notEqual((await ask(DRAWS)).text, (await ask({ temperature: 0 })).text);
  assert.equal((await ask({ ...DRAWS, ...fields })).text, (await ask({ temperature: 0 })).text);
};
/** A field that leads away from the likeliest token. */
const strays = (fields: Fields) => async (ask: Ask) => {
  assert.equal((await ask(NEARLY_GREEDY)).text, (await ask({ temperature: 0 })).text);
  assert.notEqual((await ask({ ...NEARLY_GREEDY, ...fields })).text, (await ask({ temperature: 0 })).text);
};
/** A field that makes what was said unlikely. */
const varies = (fields: Fields) => async (ask: Ask) => {
  assert.equal((await ask(SAYS_A)).text, 'AAAAAA');
  assert.doesNotMatch((await ask({ ...SAYS_A, ...fields })).text, /AA/);
};
/** A field that says what the text is. */
const says = (text: string, fields: Fields) => async (ask: Ask) =>
  assert.equal((await ask({ seed: 1, ...fields })).text, text);
const refused = (status: number, fields: Fields) => async (ask: Ask) =>
  assert.equal((await ask(fields)).status, status);
/** Where another test sees what it does. */
const elsewhere = (file: string) => file;

/** What shows of each honoured field that it does what it should: a request with it, beside one without. */
const SEEN: Readonly<Record<string, string | ((ask: Ask) => Promise<unknown>)>> = {
  add_generation_prompt: elsewhere('prefill.test.ts'),
  add_special_tokens: async (ask) => {
    assert.equal((await ask({})).prompt - (await ask({ add_special_tokens: false })).prompt, 1);
  },
  allowed_token_ids: says('BBBBBB', { allowed_token_ids: [B] }),
  background: elsewhere('clients/openai-storage.test.ts'),
  bad_words: async (ask) => {
    const { text } = await ask({ ...SAYS_A, bad_words: ['AA'] });
    assert.match(text, /^A[^A]A/);
  },
  best_of: async (ask) => {
    const choices = await ask({ ...DRAWS, n: 8, logprobs: 0 });
    const best = await ask({ ...DRAWS, n: 1, best_of: 8, logprobs: 0 });
    const means = (body: string) =>
      [...body.matchAll(/"token_logprobs":\[([^\]]*)\]/g)].map(([, list = '']) => {
        const all = list.split(',').map(Number);
        return all.reduce((sum, value) => sum + value, 0) / all.length;
      });
    assert.deepEqual(means(best.body), [Math.max(...means(choices.body))]);
    assert.equal((await ask({ n: 2, best_of: 1 })).status, 400);
    assert.equal((await ask({ best_of: 2, stream: true })).status, 400);
  },
  cache_salt: elsewhere('endpoints.test.ts'),
  chat_template_kwargs: elsewhere('clients/reasoning.test.ts'),
  continue_final_message: elsewhere('prefill.test.ts'),
  adaptive_decay: async (ask) => {
    const adaptive = { ...DRAWS, samplers: ['adaptive_p'], adaptive_target: 0.3 };
    const { text } = await ask({ ...adaptive, adaptive_decay: 0 });
    assert.notEqual((await ask({ ...adaptive, adaptive_decay: 0.99 })).text, text);
  },
  adaptive_target: async (ask) => {
    const adaptive = { ...DRAWS, samplers: ['adaptive_p'] };
    assert.notEqual((await ask({ ...adaptive, adaptive_target: 0.9 })).text, (await ask(adaptive)).text);
  },
  dry_allowed_length: async (ask) => {
    assert.equal((await ask({ ...SAYS_A, dry_multiplier: 90, dry_allowed_length: 9 })).text, 'AAAAAA');
    assert.match((await ask({ ...SAYS_A, dry_multiplier: 90, dry_allowed_length: 3 })).text, /^AAAA[^A]/);
  },
  dry_base: async (ask) => {
    // Two repetitions of allowed length cost 2 each, those of one more 2 times the base.
    const dry = { ...SAYS_A, dry_multiplier: 2, dry_allowed_length: 1 };
    assert.equal((await ask({ ...dry, dry_base: 1 })).text, 'AAAAAA');
    assert.notEqual((await ask({ ...dry, dry_base: 90 })).text, 'AAAAAA');
  },
  dry_multiplier: async (ask) => {
    assert.match((await ask({ ...SAYS_A, dry_multiplier: 90 })).text, /^AAA[^A]/);
  },
  dry_penalty_last_n: async (ask) => {
    assert.equal((await ask({ ...SAYS_A, dry_multiplier: 90, dry_penalty_last_n: 2 })).text, 'AAAAAA');
    assert.notEqual((await ask({ ...SAYS_A, dry_multiplier: 90, dry_penalty_last_n: 4 })).text, 'AAAAAA');
  },
  dry_sequence_breakers: async (ask) => {
    const dry = { ...SAYS_A, dry_multiplier: 90 };
    assert.equal((await ask({ ...dry, dry_sequence_breakers: ['A'] })).text, 'AAAAAA');
    assert.equal((await ask({ ...dry, dry_sequence_breakers: ['x'.repeat(50)] })).status, 400);
  },
  conversation: elsewhere('clients/openai-storage.test.ts'),
  dynatemp_exponent: async (ask) => {
    const moved = { ...NEARLY_GREEDY, dynatemp_range: 20 };
    assert.notEqual((await ask({ ...moved, dynatemp_exponent: 20 })).text, (await ask(moved)).text);
  },
  dynatemp_range: strays({ dynatemp_range: 20 }),
  echo: async (ask) => assert.match((await ask({ echo: true })).text, /^hi/),
  format: elsewhere('ollama.test.ts'),
  frequency_penalty: varies({ frequency_penalty: 100 }),
  function_call: elsewhere('prefill.test.ts'),
  functions: elsewhere('prefill.test.ts'),
  grammar: says('abc', { grammar: ABC }),
  guided_choice: says('abc', { guided_choice: ['abc'] }),
  guided_grammar: says('abc', { guided_grammar: ABC }),
  guided_json: says('12', { guided_json: { const: 12 } }),
  guided_regex: says('abc', { guided_regex: 'ab[c]' }),
  id_slot: elsewhere('slot-actions.test.ts'),
  ignore_eos: async (ask) => {
    assert.equal((await ask({ ...ENDS })).generated, 0);
    assert.equal((await ask({ ...ENDS, ignore_eos: true })).generated, 6);
  },
  include: async (ask) => {
    assert.doesNotMatch((await ask({})).body, /"logprob":/);
    assert.match((await ask({ include: ['message.output_text.logprobs'] })).body, /"logprob":/);
  },
  include_stop_str_in_output: says('AA', { ...SAYS_A, stop: 'AA', include_stop_str_in_output: true }),
  input: async (ask) => assert.notEqual((await ask({ input: 'hi hi hi' })).prompt, (await ask({})).prompt),
  input_extra: async (ask) => {
    const input_extra = [{ filename: 'a.c', text: 'hi' }];
    assert.ok((await ask({ input_extra })).prompt > (await ask({})).prompt);
    assert.equal((await ask({ input_extra: [{ filename: 'a.c' }] })).status, 400);
  },
  input_prefix: async (ask) => {
    assert.ok((await ask({ input_prefix: 'hi hi hi' })).prompt > (await ask({})).prompt);
  },
  input_suffix: async (ask) => {
    assert.ok((await ask({ input_suffix: 'hi hi hi' })).prompt > (await ask({})).prompt);
  },
  instructions: async (ask) => {
    assert.ok((await ask({ instructions: 'hi' })).prompt > (await ask({})).prompt);
  },
  json_schema: says('12', { json_schema: { const: 12 } }),
  logit_bias: async (ask) => {
    for (const logit_bias of [{ [A]: 100 }, [[A, 100]]])
      assert.equal((await ask({ temperature: 0, logit_bias })).text, 'AAAAAA');
    // A text is also of the space before it.
    const halves = ['A', 'A'].map((text) => [text, 50]);
    for (const logit_bias of [{ A: 100 }, halves])
      assert.match((await ask({ temperature: 0, logit_bias })).text, /^[A ]+$/);
    const { text } = await ask({
      temperature: 0,
      logit_bias: [
        ['AB', 60],
        ['A', false],
      ],
    });
    assert.equal(text, 'BBBBBB');
    const many = Array.from({ length: 257 }, (_, at) => [`a${at}`, 1]);
    assert.equal((await ask({ logit_bias: many })).status, 400);
  },
  keep_alive: elsewhere('../full/client-ollama.test.ts'),
  logprobs: async (ask) => {
    assert.doesNotMatch((await ask({})).body, /"logprobs":[[{]/);
    assert.match((await ask({ logprobs: 1 })).body + (await ask({ logprobs: true })).body, /"logprobs":[[{]/);
  },
  lora: elsewhere('adapters.test.ts'),
  max_completion_tokens: async (ask) => assert.equal((await ask({ max_completion_tokens: 3 })).generated, 3),
  max_output_tokens: async (ask) => assert.equal((await ask({ max_output_tokens: 3 })).generated, 3),
  max_tokens: async (ask) => assert.equal((await ask({ max_tokens: 3 })).generated, 3),
  n_keep: elsewhere('llama-cpp-options.test.ts'),
  messages: async (ask) => {
    const longer = await ask({ messages: [{ role: 'user', content: 'hi hi hi' }] });
    assert.ok(longer.prompt > (await ask({})).prompt);
  },
  metadata: async (ask) =>
    assert.match((await ask({ store: true, metadata: { a: 'b' } })).body, /"metadata":\{"a":"b"\}/),
  min_p: greedy({ min_p: 1 }),
  min_tokens: async (ask) => {
    assert.equal((await ask({ ...ENDS })).generated, 0);
    assert.equal((await ask({ ...ENDS, min_tokens: 4 })).generated, 4);
    assert.equal((await ask({ ...SAYS_A, stop: 'A', min_tokens: 4 })).text.slice(0, 3), 'AAA');
  },
  min_keep: async (ask) => {
    assert.equal((await ask({ ...DRAWS, top_p: 0 })).text, (await ask({ temperature: 0 })).text);
    assert.notEqual(
      (await ask({ ...DRAWS, top_p: 0, min_keep: 50 })).text,
      (await ask({ temperature: 0 })).text,
    );
  },
  logprob_token_ids: async (ask) => {
    const logprobs = { logprobs: true, logprob_token_ids: [A, B] };
    const { body, status } = await ask(logprobs);
    const told = status === 200 ? body : (await ask({ ...logprobs, logprobs: 1 })).body;
    assert.match(told, /"top_logprobs":\[\{"token":"A".*?\},\{"token":"B"|"top_logprobs":\[\{"A":[^,]*,"B":/);
  },
  mirostat: async (ask) => {
    const { text } = await ask({ ...DRAWS, top_k: 1 });
    const surprised = { ...DRAWS, top_k: 1, mirostat_tau: 20 };
    assert.notEqual((await ask({ ...surprised, mirostat: 1 })).text, text);
    assert.notEqual((await ask({ ...surprised, mirostat: 2 })).text, text);
  },
  mirostat_eta: async (ask) => {
    const held = { ...DRAWS, mirostat: 2, mirostat_tau: 3 };
    const { text } = await ask({ ...held, mirostat_eta: 0 });
    assert.notEqual((await ask({ ...held, mirostat_eta: 1 })).text, text);
  },
  mirostat_tau: async (ask) => {
    const { text } = await ask({ temperature: 0 });
    assert.equal((await ask({ ...DRAWS, mirostat: 2, mirostat_tau: 0 })).text, text);
    assert.notEqual((await ask({ ...DRAWS, mirostat: 2, mirostat_tau: 9 })).text, text);
  },
  model: refused(404, { model: 'other' }),
  n: async (ask) => assert.equal((await ask({ n: 2 })).choices, 2),
  n_predict: async (ask) => assert.equal((await ask({ max_tokens: null, n_predict: 3 })).generated, 3),
  n_probs: async (ask) => {
    assert.doesNotMatch((await ask({})).body, /completion_probabilities/);
    assert.match((await ask({ n_probs: 2 })).body, /"top_logprobs":\[\{[^{]*\},\{/);
  },
  options: elsewhere('ollama.test.ts'),
  output_config: async (ask) => {
    const format = { type: 'json_schema', schema: { const: 12 } };
    const { generated, text } = await ask({ output_config: { format } });
    // Where tokens are counted, there is no text.
    if (generated > 0) assert.equal(text, '12');
    assert.equal((await ask({ output_config: { effort: 'strange' } })).status, 400);
  },
  parallel_tool_calls: elsewhere('../support/forced-calls.ts'),
  penalty_window: async (ask) => {
    assert.notEqual((await ask({ ...SAYS_A, presence_penalty: 100 })).text, 'AAAAAA');
    assert.equal((await ask({ ...SAYS_A, presence_penalty: 100, penalty_window: 0 })).text, 'AAAAAA');
  },
  post_sampling_probs: async (ask) => {
    const { body } = await ask({ ...DRAWS, top_k: 1, n_probs: 3, post_sampling_probs: true });
    assert.match(body, /"prob":1,"top_probs":\[\{[^{]*"prob":1\}\]/);
    assert.doesNotMatch(body, /logprob/);
  },
  presence_penalty: varies({ presence_penalty: 100 }),
  previous_response_id: elsewhere('clients/openai-storage.test.ts'),
  priority: refused(403, { priority: -1 }),
  prompt: async (ask) => assert.notEqual((await ask({ prompt: 'hi hi hi' })).prompt, (await ask({})).prompt),
  prompt_logprobs: async (ask) => {
    assert.doesNotMatch((await ask({})).body, /prompt_logprobs/);
    assert.match((await ask({ prompt_logprobs: 1 })).body, /"prompt_logprobs":\[null,\{/);
  },
  raw: elsewhere('ollama.test.ts'),
  reasoning: elsewhere('clients/reasoning.test.ts'),
  reasoning_budget_tokens: elsewhere('clients/reasoning.test.ts'),
  reasoning_effort: elsewhere('clients/reasoning.test.ts'),
  repeat_last_n: async (ask) => {
    assert.equal((await ask({ ...SAYS_A, presence_penalty: 100, repeat_last_n: 0 })).text, 'AAAAAA');
  },
  repeat_penalty: varies({ repeat_penalty: 100 }),
  repetition_penalty: varies({ repetition_penalty: 100 }),
  response_format: async (ask) => {
    const json_schema = { name: 'a', schema: { const: 12 } };
    assert.equal((await ask({ response_format: { type: 'json_schema', json_schema } })).text, '12');
  },
  response_fields: async (ask) => {
    const { body } = await ask({
      response_fields: ['content', 'generation_settings/n_predict', 'none'],
      n_predict: 3,
    });
    const answer = JSON.parse(body) as object;
    assert.deepEqual(Object.keys(answer), ['content', 'generation_settings/n_predict']);
  },
  return_progress: elsewhere('telemetry.test.ts'),
  return_tokens: async (ask) => {
    const { body } = await ask({ return_tokens: true, ...SAYS_A });
    assert.match(body, new RegExp(`"tokens":\\[${Array.from({ length: 6 }, () => A).join(',')}\\]`));
  },
  samplers: async (ask) => {
    const { text } = await ask({ temperature: 0 });
    assert.equal((await ask({ ...DRAWS, top_k: 1, samplers: ['top_k', 'temperature'] })).text, text);
    assert.notEqual((await ask({ ...DRAWS, top_k: 1, samplers: ['penalties', 'temperature'] })).text, text);
    const cold = { ...DRAWS, temperature: 0.001, min_p: 0.9 };
    assert.equal((await ask({ ...cold, samplers: 'tm' })).text, text);
    assert.notEqual((await ask({ ...cold, temperature: 100, samplers: 'tm' })).text, text);
    assert.equal((await ask({ samplers: ['temperature', 'middle_k'] })).status, 400);
  },
  seed: async (ask) => {
    const { text } = await ask({ ...DRAWS, seed: 5 });
    assert.equal((await ask({ ...DRAWS, seed: 5 })).text, text);
    assert.notEqual((await ask({ ...DRAWS, seed: 6 })).text, text);
  },
  skip_special_tokens: async (ask) => {
    const told = { temperature: 0, logit_bias: { [BEGIN]: 100 } };
    assert.doesNotMatch((await ask(told)).text, /<s>/);
    assert.match((await ask({ ...told, skip_special_tokens: false })).text, /<s>/);
  },
  stop: says('', { ...SAYS_A, stop: ['AAA'] }),
  stop_sequences: says('', { ...SAYS_A, stop_sequences: ['AAA'] }),
  stop_token_ids: says('', { ...SAYS_A, stop_token_ids: [A] }),
  stream: async (ask) => assert.match((await ask({ stream: true })).type, /event-stream|ndjson/),
  stream_options: async (ask) => {
    assert.doesNotMatch((await ask({ stream: true })).body, /total_tokens/);
    const { body } = await ask({ stream: true, stream_options: { include_usage: true } });
    assert.match(body, /total_tokens/);
  },
  store: elsewhere('clients/openai-storage.test.ts'),
  structured_outputs: says('abc', { structured_outputs: { regex: 'ab[c]' } }),
  suffix: async (ask) => {
    const { prompt } = await ask({ suffix: 'A' });
    assert.equal((await ask({ suffix: 'ABC' })).prompt - prompt, 2);
    assert.notEqual((await ask({})).prompt, prompt);
  },
  system: async (ask) => assert.ok((await ask({ system: 'hi' })).prompt > (await ask({})).prompt),
  temperature: async (ask) => {
    assert.notEqual((await ask(DRAWS)).text, (await ask({ ...DRAWS, temperature: 0 })).text);
  },
  text: says('12', { text: { format: { type: 'json_schema', name: 'a', schema: { const: 12 } } } }),
  think: elsewhere('ollama.test.ts'),
  thinking: elsewhere('clients/reasoning.test.ts'),
  thinking_budget_tokens: elsewhere('clients/reasoning.test.ts'),
  timings_per_token: elsewhere('telemetry.test.ts'),
  tool_choice: elsewhere('../support/forced-calls.ts'),
  tools: elsewhere('../support/forced-calls.ts'),
  top_k: greedy({ top_k: 1 }),
  top_logprobs: async (ask) => {
    const plain = (await ask({ top_logprobs: 2 })).body;
    // Chats ask for log-probabilities by a second field.
    const body = plain.includes('"top_logprobs":[{')
      ? plain
      : (await ask({ logprobs: true, top_logprobs: 2 })).body;
    assert.match(body, /"top_logprobs":\[\{[^{]*\},\{/);
  },
  top_n_sigma: greedy({ top_n_sigma: 1e-6 }),
  top_p: greedy({ top_p: 0 }),
  truncation: elsewhere('clients/openai-storage.test.ts'),
  truncate_prompt_tokens: async (ask) => {
    assert.equal((await ask({ truncate_prompt_tokens: 2 })).prompt, 2);
    assert.ok((await ask({})).prompt > 2);
  },
  typical_p: async (ask) => {
    const drawn = async (seed: number) => (await ask({ ...DRAWS, seed, typical_p: 0.001 })).text;
    assert.equal(await drawn(1), await drawn(2));
  },
  verbose: elsewhere('llama-cpp-options.test.ts'),
  xtc_probability: strays({ xtc_probability: 1, xtc_threshold: 0.001 }),
  xtc_threshold: async (ask) => {
    const { text } = await ask(NEARLY_GREEDY);
    assert.equal((await ask({ ...NEARLY_GREEDY, xtc_probability: 1, xtc_threshold: 0.9 })).text, text);
  },
};

test('what is known of a field is seen at an endpoint that honours it', () => {
  const idle = Object.keys(SEEN).filter(
    (field) => !TEXT_ENDPOINTS.some(({ honoured }) => honoured.has(field)),
  );
  assert.deepEqual(idle, []);
  assert.ok(TEXT_ENDPOINTS.some(({ path }) => path === '/v1/chat/completions'));
});

for (const { path, honoured } of TEXT_ENDPOINTS) {
  test(`each field that ${path} honours changes the answer as it should`, async () => {
    const ask: Ask = (fields) => fieldAnswer(server, path, fields);
    for (const field of honoured) {
      const seen = SEEN[field] ?? assert.fail(`nothing shows what ${field} does`);
      if (typeof seen === 'string') {
        const text = readFileSync(join(PROJECT_ROOT, 'tests/server', seen), 'utf8');
        assert.ok(text.includes(field), `${seen} says nothing of ${field}`);
      } else {
        await seen(ask).catch((error: unknown) => assert.fail(`${path} ${field}: ${String(error)}`));
      }
    }
  });

  test(`what ${path} does not honour is refused by name, harmless or told`, async () => {
    const { others } = TEXT_ENDPOINTS.find((endpoint) => endpoint.path === path) ?? assert.fail();
    for (const [field, { verdict, why, neutral }] of Object.entries(others)) {
      if (honoured.has(field) || field.includes('*') || /^\w+\.\w+\./.test(field)) continue;
      if (/^(?:stream_)?options\./.test(field)) continue;
      const answer = await fieldAnswer(server, path, { [field]: 'something' });
      if (verdict === 'refused') {
        assert.equal(answer.status, 400, `${path} ${field}`);
        assert.ok(answer.body.includes(`${field}: ${why}`), answer.body);
      } else assert.deepEqual([answer.status, answer.ignored], [200, null], `${path} ${field}`);
      for (const value of [null, ...neutral]) {
        const { status, ignored } = await fieldAnswer(server, path, { [field]: value });
        assert.deepEqual([status, ignored], [200, null], `${path} ${field} ${JSON.stringify(value)}`);
      }
    }
    const known = honoured.has('lora') ? { lora: [] } : {};
    const odd = { tempreature: 1, 'x\r\ny': 2, ...known };
    const answer = await fieldAnswer(server, path, odd);
    assert.equal(answer.status, 200, answer.body);
    assert.equal(answer.ignored, 'tempreature, x??y');
  });
}

test('fields within others are told and refused, too', async () => {
  const message = { role: 'user', content: [{ type: 'text', text: 'hi', colour: 1 }], mood: 'good' };
  const told = await fieldAnswer(server, '/v1/chat/completions', { messages: [message] });
  assert.equal(told.ignored, 'messages.*.content.*.colour, messages.*.mood');
  const harmless = { role: 'assistant', content: 'hi', refusal: null, annotations: [] };
  const messages = [harmless, { role: 'user', content: 'hi' }];
  assert.equal((await fieldAnswer(server, '/v1/chat/completions', { messages })).ignored, null);
  const spoken = { ...harmless, audio: { id: 'x' } };
  const refusal = await fieldAnswer(server, '/v1/chat/completions', { messages: [spoken] });
  assert.deepEqual([refusal.status, refusal.body.includes('messages.*.audio')], [400, true]);
});

test('an option out of its range is named as the field that says it', async () => {
  const cases: readonly [Fields, string][] = [
    [{ top_p: 3 }, 'top_p'],
    [{ stop_token_ids: [100_000] }, 'stop_token_ids'],
    [{ repeat_penalty: 2, repetition_penalty: 3 }, 'repetition_penalty'],
  ];
  for (const [fields, field] of cases) {
    const request = { ...plainRequest('/v1/chat/completions'), ...fields };
    const response = await server.fetch(post('/v1/chat/completions', request));
    const { error } = (await response.json()) as { error: { param: string; message: string } };
    assert.deepEqual([response.status, error.param], [400, field]);
    assert.ok(error.message.startsWith(`${field}: `), error.message);
  }
});
