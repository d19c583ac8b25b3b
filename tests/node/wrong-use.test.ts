import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { ErrorCode } from '../../src/base/errors.ts';
import { CHAT_OPTIONS } from '../../src/engine/option-names.ts';
import {
  ChatSession,
  isRocmforgeError,
  type LanguageModel,
  loadModel,
  loadModelInWorker,
  readState,
  tool,
  writeState,
} from '../../src/index.ts';
import { LOAD_MODEL_OPTIONS } from '../../src/node/load-model.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { tinyBytes } from '../support/tiny-model.ts';

// What programs in plain JavaScript, and people who guess, get wrong: each mistake is answered by a typed error that names it.
const folder = temporaryFolder({ after });

function fileOf(name: string, content: string | Uint8Array): string {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
}

const tiny = fileOf('tiny.gguf', await tinyBytes('F32'));
const whole = await tinyBytes('F32');
const model = await loadModel(tiny, { device: 'reference', context: 64 });
after(() => model.dispose());

const question = [{ role: 'user', content: 'Hi' }];

/** A method of the model with whatever a program may pass to it. */
type Any = (...values: unknown[]) => unknown;
type Methods = Record<keyof LanguageModel, Any>;
const any = model as unknown as Methods;

const open = (...values: unknown[]) => (loadModel as Any)(...values);
const chat = (options: object, messages: unknown = question) =>
  (any.chat(messages, options) as { text(): Promise<string> }).text();
const generate = (prompt: unknown) => (any.generate(prompt) as { text(): Promise<string> }).text();
const session = (options: object) =>
  new (ChatSession as unknown as new (...of: unknown[]) => ChatSession)(model, options);
const makeTool = tool as unknown as Any;
const weather = tool({ name: 'weather', run: () => 'sunny' });

type Case = readonly [what: string, wrong: () => unknown, code: ErrorCode, message: RegExp];

/** Values that would have no effect. */
const WITHOUT_EFFECT: readonly Case[] = [
  ['an empty stop string', () => chat({ stop: [''] }), 'INVALID_ARGUMENT', /stop: .* none of them empty/],
  [
    'more tokens at least than at most',
    () => chat({ minTokens: 9, maxTokens: 5 }),
    'INVALID_ARGUMENT',
    /minTokens: found 9, expected at most maxTokens, 5/,
  ],
  [
    'a bias of no token',
    () => chat({ logitBias: new Map([[9e5, 1]]) }),
    'INVALID_ARGUMENT',
    /logitBias: found token 900000/,
  ],
  [
    'an empty breaker',
    () => chat({ drySequenceBreakers: [''] }),
    'INVALID_ARGUMENT',
    /drySequenceBreakers: found "", expected texts of 1 to/,
  ],
  ['an empty salt', () => chat({ cacheSalt: '' }), 'INVALID_ARGUMENT', /cacheSalt: .* not empty/],
  [
    'a time that is none',
    () => chat({ now: new Date(Number.NaN) }),
    'INVALID_ARGUMENT',
    /now: .* expected a Date/,
  ],
  [
    'the conversation as a variable',
    () => chat({ variables: { messages: [] } }),
    'INVALID_ARGUMENT',
    /variables: found messages/,
  ],
  [
    'limits of drafts without any',
    () => open(tiny, { device: 'reference', minDraftTokens: 2 }),
    'INVALID_ARGUMENT',
    /minDraftTokens: found 2, expected speculation, a draft model/,
  ],
  [
    'more draft tokens at least than at most',
    () => open(tiny, { device: 'reference', minDraftTokens: 3, speculation: 2 }),
    'INVALID_ARGUMENT',
    /minDraftTokens: found 3, expected at most the 2 draft tokens of a step/,
  ],
  [
    'a place for experts that are not there',
    () => open(tiny, { device: 'cpu', experts: 'host' }),
    'INVALID_ARGUMENT',
    /experts: found host, expected a model with experts/,
  ],
];

const FILES: readonly Case[] = [
  ['an empty location', () => open(''), 'INVALID_ARGUMENT', /location: found an empty text/],
  ['a number for a location', () => open(5), 'INVALID_ARGUMENT', /location: found number/],
  ['options for a location', () => open({ device: 'cpu' }), 'INVALID_ARGUMENT', /location: found object/],
  ['a folder', () => open(folder), 'SOURCE_UNAVAILABLE', /it is a folder: name a GGUF file in it/],
  ['half a name', () => open('hf:user'), 'MODEL_NAME_INVALID', /expected user\/repo/],
  [
    'a web page',
    () => open(fileOf('a.gguf', '<!DOCTYPE html><p>Log in')),
    'GGUF_MAGIC',
    /as a web page does/,
  ],
  [
    'a pointer of Git LFS',
    () => open(fileOf('b.gguf', 'version https://git-lfs.github.com/spec/v1\n')),
    'GGUF_MAGIC',
    /Git LFS/,
  ],
  [
    'a checkpoint of PyTorch',
    () => open(fileOf('c.bin', 'PK\u0003\u0004 and so on')),
    'GGUF_MAGIC',
    /PyTorch/,
  ],
  [
    'a compressed file',
    () => open(fileOf('d.gz', Uint8Array.of(0x1f, 0x8b, 8, 0, 0))),
    'GGUF_MAGIC',
    /by gzip/,
  ],
  ['an old format', () => open(fileOf('e.bin', 'tjgg\u0001\0\0\0')), 'GGUF_MAGIC', /before GGUF/],
  ['an empty file', () => open(fileOf('f.gguf', '')), 'GGUF_TRUNCATED', /ends at 0/],
  [
    'half a file',
    () => open(fileOf('g.gguf', whole.slice(0, -100))),
    'GGUF_TENSOR_BOUNDS',
    /but the file ends at/,
  ],
  [
    'a model for an adapter',
    () => open(tiny, { device: 'cpu', adapters: { a: tiny } }),
    'ADAPTER_INVALID',
    /general\.type/,
  ],
];

const OPENING: readonly Case[] = [
  ['a misspelt option', () => open(tiny, { devise: 'cpu' }), 'OPTION_UNKNOWN', /is "device" meant/],
  [
    'a mode that is none',
    () => open(tiny, { load: 'fast' }),
    'INVALID_ARGUMENT',
    /load: found "fast", expected background/,
  ],
  [
    'memory as a text',
    () => open(tiny, { memory: '6GiB' }),
    'INVALID_ARGUMENT',
    /memory: found "6GiB", expected a number/,
  ],
  [
    'a text for a function',
    () => open(tiny, { onProgress: 'log' }),
    'INVALID_ARGUMENT',
    /onProgress.*a function/,
  ],
  [
    'a text for true',
    () => open(tiny, { deterministic: 'no' }),
    'INVALID_ARGUMENT',
    /deterministic: found "no", expected true or false/,
  ],
  [
    'a device that is none',
    () => open(tiny, { device: 'gpu' }),
    'INVALID_ARGUMENT',
    /device: found gpu, expected auto/,
  ],
  [
    'a type that caches lack',
    () => open(tiny, { cacheType: 'q9' }),
    'INVALID_ARGUMENT',
    /cacheType: found q9/,
  ],
];

const TEXTS: readonly Case[] = [
  ['a text for messages', () => chat({}, 'Hi'), 'INVALID_ARGUMENT', /messages: found string/],
  ['texts for messages', () => chat({}, ['Hi']), 'INVALID_ARGUMENT', /messages\[0\].*role and content/],
  [
    'an unknown role',
    () => chat({}, [{ role: 'bot', content: 'x' }]),
    'INVALID_ARGUMENT',
    /role: found "bot"/,
  ],
  ['OpenAI’s name of an option', () => chat({ max_tokens: 5 }), 'OPTION_UNKNOWN', /is "maxTokens" meant/],
  [
    'a text for stop strings',
    () => chat({ stop: 'x' }),
    'INVALID_ARGUMENT',
    /stop: found "x", expected a list of texts/,
  ],
  ['a number among stop strings', () => chat({ stop: [5] }), 'INVALID_ARGUMENT', /stop: found a list of 5/],
  [
    'a controller for its signal',
    () => chat({ signal: new AbortController() }),
    'INVALID_ARGUMENT',
    /signal: .*AbortController, expected an AbortSignal/,
  ],
  [
    'a RegExp for its source',
    () => chat({ regex: /[0-9]+/ }),
    'INVALID_ARGUMENT',
    /regex: .*RegExp, expected the pattern as a text/,
  ],
  ['a text for choices', () => chat({ choices: 'yes' }), 'INVALID_ARGUMENT', /choices: found "yes"/],
  ['json as a text', () => chat({ json: 'yes' }), 'INVALID_ARGUMENT', /json: found "yes"/],
  [
    'two forms',
    () => chat({ json: true, choices: ['a'] }),
    'INVALID_ARGUMENT',
    /json and choices: found both/,
  ],
  [
    'a signal for options',
    () => any.generate('x', AbortSignal.abort()),
    'INVALID_ARGUMENT',
    /the options of generate: found an object of AbortSignal, expected an object such as \{signal\}/,
  ],
  [
    'a function for a schema',
    () => chat({ schema: () => 1 }),
    'GRAMMAR_INVALID',
    /found undefined, expected a value of JSON/,
  ],
  [
    'a schema of a type that is none',
    () => chat({ schema: { type: 'objet' } }),
    'GRAMMAR_INVALID',
    /"\/type": found "objet"/,
  ],
  [
    'a priority in words',
    () => chat({ scheduling: { priority: 'high' } }),
    'INVALID_ARGUMENT',
    /priority: found "high"/,
  ],
  [
    'no prompt',
    () => generate(undefined),
    'INVALID_ARGUMENT',
    /prompt: found undefined, expected a text, or a list/,
  ],
  ['a number to tokenize', () => any.tokenize(5), 'INVALID_ARGUMENT', /text: found 5/],
  ['a text for a gap', () => any.infill('def'), 'INVALID_ARGUMENT', /gap: found "def", expected an object/],
];

const TOOLS: readonly Case[] = [
  [
    'names for tools',
    () => chat({ tools: ['weather'] }),
    'INVALID_ARGUMENT',
    /tools: found a list of "weather"/,
  ],
  [
    'a tool for its definition',
    () => chat({ tools: [weather] }),
    'INVALID_ARGUMENT',
    /a Tool has one in `definition`/,
  ],
  [
    'a function in a definition, which nobody would call',
    () => chat({ tools: [{ ...weather.definition, run: () => 'sunny' }] }),
    'INVALID_ARGUMENT',
    /a ChatSession takes tools, whose functions it calls/,
  ],
  [
    'a choice that is none',
    () => chat({ toolChoice: 'maybe' }),
    'INVALID_ARGUMENT',
    /toolChoice: found "maybe"/,
  ],
  [
    'a definition for a tool',
    () => session({ tools: [weather.definition] }),
    'INVALID_ARGUMENT',
    /what `tool` returned/,
  ],
  [
    'two tools of one name',
    () => session({ tools: [weather, weather] }),
    'INVALID_ARGUMENT',
    /weather twice/,
  ],
  ['a tool without a function', () => makeTool({ name: 'a' }), 'INVALID_ARGUMENT', /a\.run: found undefined/],
  [
    'a name with spaces',
    () => makeTool({ name: 'get it', run: () => 1 }),
    'INVALID_ARGUMENT',
    /letters, digits/,
  ],
  [
    'a text for a schema',
    () => makeTool({ name: 'a', parameters: 'city', run: () => 1 }),
    'INVALID_ARGUMENT',
    /a\.parameters: found "city"/,
  ],
  [
    'a session without a model',
    () => new (ChatSession as unknown as new (of: unknown) => ChatSession)({}),
    'INVALID_ARGUMENT',
    /model: .*an open model/,
  ],
  [
    'a saved session of something else',
    () => ChatSession.load(model, {} as never),
    'INVALID_ARGUMENT',
    /ChatSession\.save/,
  ],
];

const ALL = { files: FILES, opening: OPENING, texts: TEXTS, tools: TOOLS, 'without effect': WITHOUT_EFFECT };
for (const [kind, cases] of Object.entries(ALL)) {
  test(`mistakes with ${kind} are named, with what to do`, async () => {
    for (const [what, wrong, code, message] of cases) {
      const error: unknown = await Promise.resolve()
        .then(wrong)
        .then(
          () => assert.fail(`${what} was accepted`),
          (reason: unknown) => reason,
        );
      if (!isRocmforgeError(error)) assert.fail(`${what}: ${String(error)}`);
      assert.equal(error.code, code, `${what}: ${error.message}`);
      assert.match(error.message, message, what);
      assert.ok(error.fix.length > 10, what);
    }
  });
}

/** Values of types that hardly any argument has. */
const WRONG: readonly unknown[] = [
  null,
  0,
  -1,
  1.5,
  Number.NaN,
  'x',
  true,
  {},
  [],
  [null],
  [1e9],
  () => 1,
  5n,
];
const WRONG_OPTIONS: readonly unknown[] = [-1, 'x', {}, [null], () => 1];

/** What settles a call, so that every error of it is seen: a text, the first of several values, or nothing. */
async function settled(value: unknown): Promise<void> {
  const of = (await value) as { text?: () => Promise<string> } | undefined;
  if (typeof of?.text === 'function') await of.text();
  else if (of && typeof of === 'object' && Symbol.asyncIterator in of) {
    for await (const _ of of as AsyncIterable<unknown>) break;
  }
}

/** Fails if a call throws something other than a typed error; it may also be content. */
async function isTyped(what: string, call: () => unknown): Promise<void> {
  try {
    await settled(call());
  } catch (error) {
    if (!isRocmforgeError(error) || error.code === 'INTERNAL') assert.fail(`${what}: ${String(error)}`);
  }
}

test('every argument of every method and every option is checked, on this thread and on another', async () => {
  const remote = await loadModelInWorker(tiny, { device: 'cpu', threads: 1, context: 64 });
  after(() => remote.dispose());
  const snapshot = await model.saveState([1, 2, 3]);
  const few = { maxTokens: 1 };
  const rights: Readonly<Record<string, readonly unknown[]>> = {
    generate: [[1, 2], few],
    chat: [question, few],
    infill: [{ prefix: 'a', suffix: 'b' }, few],
    embed: ['a', {}],
    rerank: ['a', ['b'], {}],
    classify: ['a', {}],
    tokenize: ['a', {}],
    detokenize: [[1], {}],
    countTokens: ['a', {}],
    renderChat: [question, {}],
    chatPrompt: [question, {}],
    saveState: [[1, 2], undefined],
    saveSlot: [0, undefined, undefined],
    eraseSlot: [0, undefined, undefined],
    restoreState: [snapshot, 0, undefined],
    stateShape: [3],
    loadAdapter: ['a', tiny, 1],
    unloadAdapter: ['a'],
    scaleAdapters: [new Map()],
    score: [[1, 2, 3], {}],
    evaluate: [[1, 2, 3], 0, {}],
  };
  for (const of of [model, remote]) {
    const methods = of as unknown as Readonly<Record<string, Any>>;
    const callOf = (name: string, args: readonly unknown[]) => () => methods[name]?.(...args);
    for (const [name, args] of Object.entries(rights)) {
      if (!(name in of)) continue;
      for (const [at] of args.entries()) {
        for (const wrong of WRONG) {
          await isTyped(`${name}, argument ${at + 1}: ${String(wrong)}`, callOf(name, args.with(at, wrong)));
        }
      }
    }
    for (const wrong of WRONG) {
      await isTyped(`readState: ${String(wrong)}`, () => readState(of, wrong as never));
      await isTyped(`writeState: ${String(wrong)}`, () => writeState(of, wrong as never, wrong as never));
      await isTyped(`writeState to ${String(wrong)}`, () => writeState(of, snapshot, wrong as never));
      for (const part of ['ids', 'states', 'lineage']) {
        const bad = { ...snapshot, [part]: wrong };
        await isTyped(`restoreState, ${part}: ${String(wrong)}`, () => of.restoreState(bad as never));
      }
    }
  }
  for (const wrong of WRONG_OPTIONS) {
    for (const name of Object.keys(CHAT_OPTIONS)) {
      await isTyped(`chat, ${name}: ${String(wrong)}`, () => chat({ ...few, [name]: wrong }));
    }
    for (const name of Object.keys(LOAD_MODEL_OPTIONS)) {
      await isTyped(`loadModel, ${name}: ${String(wrong)}`, async () => {
        const opened = await open(tiny, { device: 'reference', context: 64, [name]: wrong });
        await (opened as LanguageModel).dispose();
      });
    }
  }
});
