import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fail } from '../../../src/base/errors.ts';
import { choiceGrammar, matchesGrammar, schemaGrammar } from '../../../src/grammar/index.ts';
import { answerGrammar, dialectOf, isThinkingRequested, thinksByDefault } from '../../../src/text/index.ts';
import { checkAnswers, DIALECTS, literalsOf, readTokens, TOOLS } from '../../support/answer-walks.ts';
import { GuidedWalk, WalkVocabulary } from '../../support/grammar/guided-walk.ts';
import { seededRandom } from '../../support/random.ts';

for (const [name, dialect] of DIALECTS) {
  for (const isControl of [true, false]) {
    test(`answers that ${name} is held to are calls of the tools' schemas, ${isControl ? 'with' : 'without'} special tokens`, () => {
      // Each grammar once, in one way or the other; `test:full` draws more of all.
      const grammars = [true, false].map((isRequired) => ({
        isRequired,
        isParallel: isRequired === isControl,
      }));
      checkAnswers(dialect, { isControl, grammars, texts: 4 });
    });
  }
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
    const answer = readTokens(dialect, tokens, '<think>\n');
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
    thinksByDefault(({ enabled }) => template[enabled === undefined ? 'unsaid' : enabled ? 'on' : 'off']);
  assert.equal(written({ on: 'a', off: 'b', unsaid: 'a' }), true);
  assert.equal(written({ on: 'a', off: 'b', unsaid: 'b' }), false);
  assert.equal(written({ on: 'a', off: 'b', unsaid: 'c' }), true);
  assert.equal(written({ on: 'a', off: 'a', unsaid: 'a' }), true);
  assert.equal(
    thinksByDefault(() => fail('REASONING_UNSUPPORTED', { what: 'reasoning' })),
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
    assert.equal(isThinkingRequested(wish), asked, JSON.stringify(wish));
  }
});
