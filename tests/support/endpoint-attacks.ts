import type { BodyAttack } from './body-attacks.ts';

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

const WORDS_7MB = 'a b '.repeat(1_750_000);
const CHAT = { messages: [{ role: 'user', content: 'hi' }], max_tokens: 1 };
const COMPLETION = { prompt: 'hi', max_tokens: 1 };

/** A form with a file, and what it has besides. */
function form(file: string, more: string, length = 1): Pick<BodyAttack, 'body' | 'type'> {
  const part = (head: string, content: string) =>
    `--x\r\ncontent-disposition: form-data; ${head}\r\n\r\n${content}\r\n`;
  const purpose = part('name="purpose"', 'batch');
  const filename = `name="file"; filename="${'f'.repeat(length)}"`;
  return {
    type: 'multipart/form-data; boundary=x',
    body: `${purpose}${more}${part(filename, file)}--x--\r\n`,
  };
}

/** Requests to the endpoints beside generation that are expensive to read, to keep or to carry out. */
export function endpointAttacks(model: string): BodyAttack[] {
  const invalid = 'REQUEST_INVALID';
  const large = 'REQUEST_TOO_LARGE';
  const unfilled = 'INFILL_UNSUPPORTED';
  const unread = 'EMBEDDINGS_UNSUPPORTED';
  const unranked = 'RANKING_UNSUPPORTED';
  const attack = (name: string, path: string, body: object, code?: string): BodyAttack => {
    return { name, path, body: JSON.stringify(body), ...(code !== undefined && { code }) };
  };
  const parts = (count: number) =>
    times(count, () => '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n\r\n').join('');
  const message = (content: unknown) => ({ type: 'message', role: 'user', content });
  const params = { model, max_tokens: 1, messages: CHAT.messages };
  return [
    attack('300 000 documents', '/v1/rerank', { query: 'q', documents: times(300_000, () => 'd') }, invalid),
    attack('60 000 documents', '/v1/rerank', { query: 'q', documents: times(60_000, () => 'd') }, invalid),
    attack('2 048 documents', '/v1/rerank', { query: 'q', documents: times(2048, () => 'd') }, unranked),
    attack('a query of 7 MB', '/v1/rerank', { query: WORDS_7MB, documents: ['d'] }, 'CONTEXT_OVERFLOW'),
    attack('60 000 pairs', '/v1/score', { text_1: times(60_000, () => 'd'), text_2: 'd' }, invalid),
    attack('60 000 texts to classify', '/v1/classify', { input: times(60_000, () => 'd') }, invalid),
    attack('100 000 texts to embed', '/v1/embeddings', { input: times(100_000, () => 'd') }, invalid),
    attack('2 048 texts to embed', '/v1/embeddings', { input: times(2048, () => 'd e f') }, unread),
    attack(
      '250 000 ids between texts',
      '/v1/embeddings',
      { input: ['d', ...times(250_000, () => 5)] },
      'CONTEXT_OVERFLOW',
    ),
    attack('60 000 texts by Ollama', '/api/embed', { model, input: times(60_000, () => 'd') }, invalid),
    attack(
      '12 000 messages by Ollama',
      '/api/chat',
      { model, messages: times(12_000, () => ({ role: 'user' })) },
      'CONTEXT_OVERFLOW',
    ),
    attack(
      'a template of 7 MB',
      '/apply-template',
      { messages: [{ role: 'user', content: WORDS_7MB }] },
      'CONTEXT_OVERFLOW',
    ),
    attack(
      '60 000 breakers',
      '/completion',
      { ...COMPLETION, dry_multiplier: 1, dry_sequence_breakers: times(60_000, (i) => `b${i}`) },
      invalid,
    ),
    attack(
      'a breaker of 7 MB',
      '/completion',
      { ...COMPLETION, dry_multiplier: 1, dry_sequence_breakers: [WORDS_7MB] },
      invalid,
    ),
    attack(
      '60 000 samplers',
      '/completion',
      { ...COMPLETION, samplers: times(60_000, () => 'top_k') },
      invalid,
    ),
    attack(
      '60 000 stop strings',
      '/completion',
      { ...COMPLETION, stop: times(60_000, (i) => `s${i}`) },
      invalid,
    ),
    attack(
      'a logit bias of 60 000 texts',
      '/completion',
      { ...COMPLETION, logit_bias: times(30_000, (i) => [`text ${i}`, 1]) },
      invalid,
    ),
    attack(
      '60 000 bad words',
      '/v1/completions',
      { ...COMPLETION, bad_words: times(60_000, (i) => `bad ${i}`) },
      invalid,
    ),
    attack(
      '60 000 banned ids',
      '/v1/completions',
      { ...COMPLETION, allowed_token_ids: times(250_000, (i) => i) },
      invalid,
    ),
    attack(
      'n of each of 2 000 prompts',
      '/v1/completions',
      { prompt: times(2000, () => 'hi'), n: 128, max_tokens: 1 },
      invalid,
    ),
    attack(
      'an infill of 7 MB',
      '/infill',
      { input_prefix: WORDS_7MB, input_suffix: 'x', n_predict: 1 },
      unfilled,
    ),
    attack(
      '60 000 other files',
      '/infill',
      {
        input_prefix: 'a',
        input_suffix: 'b',
        input_extra: times(20_000, () => ({ text: 'x', filename: 'y' })),
      },
      invalid,
    ),
    attack(
      '30 000 adapters',
      '/lora-adapters',
      times(15_000, (id) => ({ id, scale: 1 })),
      invalid,
    ),
    attack('a path of 1 MB', '/models/load', { model: '../'.repeat(300_000) }, 'MODEL_NOT_FOUND'),
    attack('a conversation of 12 000 parts', '/v1/conversations', {
      items: [message(times(12_000, () => ({ type: 'input_text', text: '' })))],
    }),
    attack('9 000 items', '/v1/conversations', { items: times(8000, () => message('x')) }, invalid),
    attack(
      '8 000 items of a response',
      '/v1/responses',
      { input: times(8000, () => message('x')), max_output_tokens: 1 },
      'CONTEXT_OVERFLOW',
    ),
    attack('an input of 7 MB in the background', '/v1/responses', { input: WORDS_7MB, background: true }),
    attack('a batch of 3 000 messages', '/v1/messages/batches', {
      requests: times(3000, (i) => ({ custom_id: `c${i}`, params })),
    }),
    attack('a batch of 7 MB', '/v1/messages/batches', {
      requests: [{ custom_id: 'c', params: { ...params, messages: [{ role: 'user', content: WORDS_7MB }] } }],
    }),
    { name: 'a form of 100 000 parts', path: '/v1/files', ...form('{}', parts(100_000)), code: invalid },
    { name: 'a name of 1 MB', path: '/v1/files', ...form('{}', '', 1_000_000), code: invalid },
    {
      name: 'a field of 7 MB',
      path: '/v1/files',
      ...form('{}', `--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n${WORDS_7MB}\r\n`),
      code: invalid,
    },
    {
      name: 'a file of 100 MB',
      path: '/v1/files',
      ...form(`${WORDS_7MB.repeat(14)}`, ''),
      code: 'STORE_FULL',
    },
    {
      name: 'a file of delimiters that are none',
      path: '/v1/files',
      ...form('\r\n--'.repeat(1_700_000), ''),
    },
    {
      name: 'a form without end',
      path: '/v1/files',
      type: 'multipart/form-data; boundary=x',
      body: '--x\r\n'.repeat(1_000_000),
      code: invalid,
    },
    {
      name: 'lists, 1 000 000 deep, of a batch',
      path: '/v1/messages/batches',
      body: '['.repeat(1_000_000),
      code: invalid,
    },
    { name: 'a body of 9 MB', path: '/v1/rerank', body: ' '.repeat(9_000_000), code: large },
  ];
}
