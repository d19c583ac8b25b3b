import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { fail } from '../../../src/base/errors.ts';
import { choiceGrammar, matchesGrammar, schemaGrammar } from '../../../src/grammar/index.ts';
import {
  answerGrammar,
  AnswerParser,
  type ChatTool,
  type Dialect,
  dialectOf,
  isThinkingAsked,
  thinksUnasked,
} from '../../../src/text/index.ts';
import { fixture } from '../../support/fixture.ts';
import { GuidedWalk, type WalkToken, WalkVocabulary } from '../../support/grammar/guided-walk.ts';
import { add, type ReadAnswer, readAnswer } from '../../support/read-answer.ts';
import { seededRandom } from '../../support/random.ts';

const TOOLS: readonly ChatTool[] = [
  tool('add', { a: { type: 'integer', minimum: -5, maximum: 40 }, b: { type: 'number' } }, ['a']),
  tool(
    'send',
    {
      to: { type: 'string', enum: ['Rome', 'Paris'] },
      text: { type: 'string', minLength: 2, maxLength: 9 },
      code: { type: 'string', pattern: '^[a-c]+$' },
      urgent: { type: 'boolean' },
    },
    ['to', 'text'],
  ),
  tool(
    'plan',
    {
      days: { type: 'array', items: { type: 'integer' }, maxItems: 3 },
      where: {
        type: 'object',
        properties: { city: { type: 'string', maxLength: 4 } },
        required: ['city'],
        additionalProperties: false,
      },
      note: { type: ['string', 'null'] },
      size: { anyOf: [{ type: 'integer', minimum: 5 }, { type: 'null' }] },
    },
    ['where'],
  ),
  tool('ping', {}, []),
];

function tool(name: string, properties: Record<string, unknown>, required: string[]): ChatTool {
  return {
    type: 'function',
    function: { name, parameters: { type: 'object', properties, required, additionalProperties: false } },
  };
}

/** One template a dialect. */
const DIALECTS = new Map<string, Dialect>();
for (const file of readdirSync(fixture('chat-templates')).sort()) {
  const dialect = dialectOf(readFileSync(fixture(`chat-templates/${file}`), 'utf8'));
  if (!DIALECTS.has(dialect.name)) DIALECTS.set(dialect.name, dialect);
}

const SPECIAL =
  /<\|[^|<>]*\|>|<\|[\w"]+>|<[\w]+\|>|<\|"\|>|<｜[^｜<>]*｜>|｜DSML｜|\[\/?[A-Z_]+\]|<\/?[\w:.-]+>|\]<\]minimax\[>\[/g;
const ajv = new Ajv2020({ strict: false });
const validators = new Map(TOOLS.map((of) => [of.function.name, ajv.compile(of.function.parameters ?? {})]));

/** All texts of the markers in a grammar. */
function literalsOf(value: unknown, found = new Set<string>()): Set<string> {
  if (value instanceof Map) for (const one of value.values()) literalsOf(one, found);
  else if (Array.isArray(value)) for (const one of value) literalsOf(one, found);
  else if (typeof value === 'object' && value !== null) {
    const { kind, text } = value as { kind?: string; text?: string };
    if ((kind === 'text' || kind === 'token') && typeof text === 'string' && text !== '') found.add(text);
    for (const one of Object.values(value)) literalsOf(one, found);
  }
  return found;
}

function read(dialect: Dialect, tokens: readonly WalkToken[], prompt: string): ReadAnswer {
  const parser = new AnswerParser(dialect, { tools: TOOLS, prompt });
  const answer: ReadAnswer = { reasoning: '', text: '', calls: [], faults: [] };
  for (const { text, isControl } of tokens)
    for (const part of parser.push(text, isControl)) add(answer, part);
  for (const part of parser.end()) add(answer, part);
  return answer;
}

for (const [name, dialect] of DIALECTS) {
  for (const isControl of [true, false]) {
    test(`answers that ${name} is held to are calls of the tools' schemas, ${isControl ? 'with' : 'without'} special tokens`, () => {
      check(dialect, isControl);
    });
  }
}

/** The same comes out of a text that is cut at any place. */
function checkSplits(dialect: Dialect, of: { text: string; prompt: string; answer: ReadAnswer }): void {
  for (const pieces of [[of.text], [...of.text]]) {
    const read = readAnswer(dialect, pieces, { tools: TOOLS, prompt: of.prompt });
    assert.deepEqual(read, of.answer, of.text);
  }
}

function check(dialect: Dialect, isControl: boolean): void {
  const random = seededRandom(7);
  const prompt =
    dialect.name === 'kimi-k3' ? '<|open|>message role="assistant"<|sep|><|open|>think<|sep|>' : '';
  let finished = 0;
  let called = 0;
  for (const isRequired of [true, false]) {
    for (const isParallel of [true, false]) {
      const grammar = answerGrammar(dialect, { tools: TOOLS, isRequired, isParallel, prompt });
      const literals = [...literalsOf(grammar)];
      const controls = literals.flatMap((text) => [...text.matchAll(SPECIAL)].map(([one]) => one));
      const pieces = [...literals, '"', '}', ']', ', ', ': ', '1', 'Ro', 'a', ' '].filter(
        (text) => !controls.includes(text),
      );
      const vocabulary = new WalkVocabulary(
        isControl ? pieces : [...pieces, ...controls],
        isControl ? controls : [],
      );
      const walk = new GuidedWalk(grammar, vocabulary, random);
      let left = 8;
      for (let run = 0; run < 60 && left > 0; run++) {
        const tokens = walk.walk(300);
        if (!tokens) continue;
        finished++;
        left--;
        const text = tokens.map((one) => one.text).join('');
        const answer = read(dialect, tokens, prompt);
        const where = `${dialect.name}: ${JSON.stringify(text)} ${JSON.stringify(answer)}`;
        assert.deepEqual(answer.faults, [], where);
        if (!isControl) checkSplits(dialect, { text, prompt, answer });
        if (isRequired) assert.ok(answer.calls.length > 0, where);
        if (!isParallel) assert.ok(answer.calls.length <= 1, where);
        for (const call of answer.calls) {
          called++;
          assert.equal(call.outcome, 'whole', where);
          const isValid = validators.get(call.name)?.(JSON.parse(call.arguments));
          assert.ok(isValid, `${where} ${JSON.stringify(validators.get(call.name)?.errors)}`);
        }
      }
    }
  }
  assert.ok(finished >= 12, `${dialect.name}: ${finished} texts were finished`);
  assert.ok(called >= 6, `${dialect.name}: ${called} calls`);
}

test('an answer of a schema may have reasoning before it, and calls beside it', () => {
  const dialect = dialectOf('<tool_call> <think> </think>');
  const held = schemaGrammar({
    type: 'object',
    properties: { a: { const: 1 } },
    required: ['a'],
    additionalProperties: false,
  });
  const grammar = answerGrammar(dialect, {
    tools: TOOLS,
    isRequired: false,
    isParallel: true,
    text: held,
    prompt: '<think>\n',
  });
  const literals = [...literalsOf(grammar)];
  const vocabulary = new WalkVocabulary([...literals, '"', '}', '1'], []);
  const walk = new GuidedWalk(grammar, vocabulary, seededRandom(3));
  let texts = 0;
  for (let run = 0; run < 60; run++) {
    const tokens = walk.walk(400);
    if (!tokens) continue;
    const answer = read(dialect, tokens, '<think>\n');
    if (answer.calls.length > 0) continue;
    texts++;
    assert.deepEqual(JSON.parse(answer.text), { a: 1 });
  }
  assert.ok(texts > 5, `${texts} texts`);
});

test('an answer that may not think is said at once, in every dialect that thinks', () => {
  const text = choiceGrammar(['yes', 'no']);
  let thinking = 0;
  for (const [name, dialect] of DIALECTS) {
    if (dialect.rule || !dialect.thinks) continue;
    const { open, close } = dialect.reasoning;
    const of = (mayThink: boolean) =>
      answerGrammar(dialect, { tools: [], isRequired: false, isParallel: false, mayThink, text });
    assert.ok(matchesGrammar(of(true), `${open}it is${close}yes`), name);
    assert.ok(!matchesGrammar(of(false), `${open}it is${close}yes`), name);
    for (const mayThink of [true, false]) assert.ok(matchesGrammar(of(mayThink), 'yes'), name);
    thinking++;
  }
  assert.ok(thinking > 5, `${thinking} dialects`);
});

test('a model thinks unasked unless its template writes the same as where reasoning is off', () => {
  const written = (template: Record<'on' | 'off' | 'unsaid', string>) =>
    thinksUnasked(({ enabled }) => template[enabled === undefined ? 'unsaid' : enabled ? 'on' : 'off']);
  assert.equal(written({ on: 'a', off: 'b', unsaid: 'a' }), true);
  assert.equal(written({ on: 'a', off: 'b', unsaid: 'b' }), false);
  assert.equal(written({ on: 'a', off: 'b', unsaid: 'c' }), true);
  assert.equal(written({ on: 'a', off: 'a', unsaid: 'a' }), true);
  assert.equal(
    thinksUnasked(() => fail('REASONING_UNSUPPORTED', { what: 'reasoning' })),
    true,
  );
  for (const [wish, asked] of [
    [{}, undefined],
    [{ enabled: false, budget: 9 }, false],
    [{ effort: 'none' }, false],
    [{ budget: 0 }, false],
    [{ budget: 7 }, true],
    [{ effort: 'low' }, true],
    [{ enabled: true }, true],
  ] as const) {
    assert.equal(isThinkingAsked(wish), asked, JSON.stringify(wish));
  }
});
