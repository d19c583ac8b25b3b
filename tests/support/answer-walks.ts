import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { answerGrammar, AnswerParser, type ChatTool, type Dialect, dialectOf } from '../../src/text/index.ts';
import { fixture } from './fixture.ts';
import { GuidedWalk, type WalkToken, WalkVocabulary } from './grammar/guided-walk.ts';
import { seededRandom } from './random.ts';
import { add, type ReadAnswer, readAnswer } from './read-answer.ts';

/** Tools with arguments of every kind. */
export const TOOLS: readonly ChatTool[] = [
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

/** The dialects of the templates, by name. */
export const DIALECTS = new Map<string, Dialect>();
for (const file of readdirSync(fixture('chat-templates')).sort()) {
  const dialect = dialectOf(readFileSync(fixture(`chat-templates/${file}`), 'utf8'));
  if (!DIALECTS.has(dialect.name)) DIALECTS.set(dialect.name, dialect);
}

const SPECIAL =
  /<\|[^|<>]*\|>|<\|[\w"]+>|<[\w]+\|>|<\|"\|>|<｜[^｜<>]*｜>|｜DSML｜|\[\/?[A-Z_]+\]|<\/?[\w:.-]+>|\]<\]minimax\[>\[/g;
const ajv = new Ajv2020({ strict: false });
const validators = new Map(TOOLS.map((of) => [of.function.name, ajv.compile(of.function.parameters ?? {})]));

/** All marker texts in a grammar. */
export function literalsOf(value: unknown, found = new Set<string>()): Set<string> {
  if (value instanceof Map) for (const one of value.values()) literalsOf(one, found);
  else if (Array.isArray(value)) for (const one of value) literalsOf(one, found);
  else if (typeof value === 'object' && value !== null) {
    const { kind, text } = value as { kind?: string; text?: string };
    if ((kind === 'text' || kind === 'token') && typeof text === 'string' && text !== '') found.add(text);
    for (const one of Object.values(value)) literalsOf(one, found);
  }
  return found;
}

/** Parses an answer given as tokens. */
export function readTokens(dialect: Dialect, tokens: readonly WalkToken[], prompt: string): ReadAnswer {
  const parser = new AnswerParser(dialect, { tools: TOOLS, prompt });
  const answer: ReadAnswer = { reasoning: '', text: '', calls: [], faults: [] };
  for (const { text, isControl } of tokens)
    for (const part of parser.push(text, isControl)) add(answer, part);
  for (const part of parser.end()) add(answer, part);
  return answer;
}

/** Asserts that the result does not depend on where the text is split. */
function checkSplits(dialect: Dialect, of: { text: string; prompt: string; answer: ReadAnswer }): void {
  for (const pieces of [[of.text], [...of.text]]) {
    const read = readAnswer(dialect, pieces, { tools: TOOLS, prompt: of.prompt });
    assert.deepEqual(read, of.answer, of.text);
  }
}

/** How answers of a dialect are sampled. */
export interface AnswerDraws {
  /** Whether the markers of templates are special tokens. */
  readonly isControl: boolean;
  /** Whether a call is required and several are allowed: one grammar for each entry. */
  readonly grammars: readonly { readonly isRequired: boolean; readonly isParallel: boolean }[];
  /** The number of answers per grammar. */
  readonly texts: number;
}

/** Samples answers from a dialect's grammars and asserts that they parse as calls that match the tools' schemas. */
export function checkAnswers(dialect: Dialect, { isControl, grammars, texts }: AnswerDraws): void {
  const random = seededRandom(7);
  const prompt =
    dialect.name === 'kimi-k3' ? '<|open|>message role="assistant"<|sep|><|open|>think<|sep|>' : '';
  let finished = 0;
  let called = 0;
  for (const { isRequired, isParallel } of grammars) {
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
    let left = texts;
    for (let run = 0; run < 60 && left > 0; run++) {
      const tokens = walk.walk(300);
      if (!tokens) continue;
      finished++;
      left--;
      const text = tokens.map((one) => one.text).join('');
      const answer = readTokens(dialect, tokens, prompt);
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
  const enough = 0.375 * texts * grammars.length;
  assert.ok(finished >= enough, `${dialect.name}: ${finished} texts were finished`);
  assert.ok(called >= enough / 2, `${dialect.name}: ${called} calls`);
}
