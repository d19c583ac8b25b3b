/** A request that is expensive to parse, render or encode. */
export interface BodyAttack {
  readonly name: string;
  readonly path: string;
  readonly body: string;
  /** Its content type. Default: JSON. */
  readonly type?: string;
  /** The expected error code, if it is refused. */
  readonly code?: string;
}

const CHAT = '/v1/chat/completions';

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function turns(count: number, content = ''): object[] {
  return times(count, (index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content }));
}

const ASK = { messages: [{ role: 'user', content: 'hi' }], max_tokens: 1 };

function tool(index: number, properties: number): object {
  const named = times(
    properties,
    (i) => [`name${i}`, { type: 'string', description: 'x'.repeat(20) }] as const,
  );
  const parameters = { type: 'object', properties: Object.fromEntries(named) };
  return { type: 'function', function: { name: `tool${index}`, parameters } };
}

function chat(name: string, fields: object, code?: string): BodyAttack {
  return { name, path: CHAT, body: JSON.stringify({ ...ASK, ...fields }), ...(code && { code }) };
}

/** The attacks; `context` is the model's context length. */
export function bodyAttacks(context: number): BodyAttack[] {
  const invalid = 'REQUEST_INVALID';
  const overflow = 'CONTEXT_OVERFLOW';
  return [
    chat('300 000 empty messages', { messages: turns(300_000) }, 'REQUEST_TOO_LARGE'),
    chat('200 000 empty messages', { messages: turns(200_000) }, invalid),
    chat('12 000 empty messages', { messages: turns(12_000) }, context < 12_000 ? overflow : undefined),
    chat('messages for the whole context', { messages: turns(context - 1) }, overflow),
    chat('a message of 7 MB', { messages: turns(1, 'a b '.repeat(1_750_000)) }, overflow),
    chat('128 tools of 384 kB', { tools: times(128, (i) => tool(i, 40)) }, overflow),
    chat(
      'logit_bias of 500 000 ids',
      { logit_bias: Object.fromEntries(times(500_000, (i) => [i, 1])) },
      invalid,
    ),
    chat(
      'logit_bias of 100 000 ids',
      { logit_bias: Object.fromEntries(times(50_000, (i) => [i, 1])) },
      invalid,
    ),
    chat('30 000 wrong adapters', { lora: times(30_000, () => ({})) }, invalid),
    chat('200 000 stop strings', { stop: times(200_000, (i) => `stop ${i}`) }, invalid),
    chat('a stop string of 1 MB', { stop: 'x'.repeat(1_000_000) }, invalid),
    chat(
      '20 000 parts of images',
      {
        messages: [
          { role: 'user', content: times(20_000, () => ({ type: 'image_url', image_url: { url: 'x' } })) },
        ],
      },
      invalid,
    ),
    chat(
      'an image of 7 MB',
      {
        messages: [
          { role: 'user', content: [{ type: 'image_url', image_url: { url: `data:,${'A'.repeat(7e6)}` } }] },
        ],
      },
      invalid,
    ),
    { name: 'lists, 1 000 000 deep', path: CHAT, body: '['.repeat(1_000_000), code: invalid },
    {
      name: 'escapes of 7 MB',
      path: CHAT,
      body: `{"messages":[{"role":"user","content":"${'\\u00e9'.repeat(1.2e6)}"}]}`,
      code: overflow,
    },
    {
      name: 'a prompt of 250 000 ids',
      path: '/v1/completions',
      body: JSON.stringify({ prompt: times(250_000, () => 5) }),
      code: overflow,
    },
    {
      name: 'a prompt of 2 000 000 ids',
      path: '/v1/completions',
      body: JSON.stringify({ prompt: times(2_000_000, () => 5) }),
      code: invalid,
    },
    {
      name: '60 000 prompts',
      path: '/v1/completions',
      body: JSON.stringify({ prompt: times(60_000, () => 'hi') }),
      code: invalid,
    },
    {
      name: 'a prompt of 7 MB',
      path: '/v1/completions',
      body: JSON.stringify({ prompt: 'a b '.repeat(1_750_000) }),
      code: overflow,
    },
    {
      name: 'a text of 7 MB to tokenize',
      path: '/tokenize',
      body: JSON.stringify({ content: 'a b '.repeat(1_750_000) }),
      code: invalid,
    },
    {
      name: 'a text of 200 kB to tokenize',
      path: '/tokenize',
      body: JSON.stringify({ content: 'a b '.repeat(50_000), with_pieces: true }),
    },
    {
      name: '500 000 ids to detokenize',
      path: '/detokenize',
      body: JSON.stringify({ tokens: times(500_000, () => 5) }),
      code: invalid,
    },
    {
      name: '60 000 ids to detokenize',
      path: '/detokenize',
      body: JSON.stringify({ tokens: times(60_000, () => 5) }),
    },
    chat('128 answers', { n: 128, max_tokens: 2 }),
  ];
}
