import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { openGrammarRealm } from '../../src/node/grammar-realm.ts';
import { openGguf } from '../../src/node/open-gguf.ts';
import { createTokenizer, type Grammar, GrammarSource, type Tokenizer } from '../../src/text/index.ts';
import { seededRandom } from '../support/random.ts';
import { BUNDLED } from '../support/run-cli.ts';
import { tinyModel } from '../support/tiny-model.ts';

async function bundledTokenizer(): Promise<Tokenizer> {
  const gguf = await openGguf(BUNDLED);
  const tokenizer = createTokenizer(gguf.metadata);
  await gguf.dispose();
  return tokenizer;
}

async function tinyTokenizer(): Promise<Tokenizer> {
  return createTokenizer((await tinyModel()).metadata);
}

function sourceOf(tokenizer: Tokenizer): GrammarSource {
  return new GrammarSource(tokenizer, tokenizer.vocabularySize, openGrammarRealm);
}

function allowed(mask: Int32Array, count: number): number[] {
  const ids: number[] = [];
  for (let id = 0; id < count; id++) if (((mask[id >> 5] as number) >>> (id & 31)) & 1) ids.push(id);
  return ids;
}

/** A text drawn at random from what the grammar allows; undefined when it did not end within so many tokens. */
async function randomText(source: GrammarSource, grammar: Grammar, tokenizer: Tokenizer, seed: number) {
  using constraint = await source.constrain(grammar);
  const random = seededRandom(seed);
  const mask = new Int32Array(Math.ceil(tokenizer.vocabularySize / 32));
  const ids: number[] = [];
  while (ids.length < 800) {
    await constraint.fill(mask);
    const choices = allowed(mask, tokenizer.vocabularySize);
    assert.ok(choices.length > 0, 'something may always follow');
    const end = choices.find((id) => tokenizer.special.endOfGeneration.has(id));
    if (end !== undefined) {
      constraint.accept(end);
      assert.ok(constraint.isComplete);
      return tokenizer.decode(ids, { keepLeadingSpace: true });
    }
    // Quotes and brackets often, or strings would hardly end.
    const closing = choices.filter((id) => /^[\]}",]+$/.test(tokenizer.decode([id])));
    const from = closing.length > 0 && random() < 0.5 ? closing : choices;
    const id = from[Math.floor(random() * from.length)] as number;
    constraint.accept(id);
    ids.push(id);
  }
  return undefined;
}

const SCHEMA = {
  type: 'object',
  properties: {
    city: { type: 'string' },
    days: { type: 'integer' },
    unit: { enum: ['C', 'F'] },
    tags: { type: 'array', items: { type: 'boolean' }, maxItems: 3 },
  },
  required: ['city', 'days', 'unit', 'tags'],
  additionalProperties: false,
};

for (const [name, open] of [
  ['byte-level', bundledTokenizer],
  ['sentencepiece', tinyTokenizer],
] as const) {
  test(`whatever is chosen, texts of a ${name} vocabulary are of the schema`, async () => {
    const tokenizer = await open();
    const source = sourceOf(tokenizer);
    let complete = 0;
    for (let seed = 1; seed <= 8; seed++) {
      const text = await randomText(source, { kind: 'schema', schema: SCHEMA }, tokenizer, seed);
      if (text === undefined) continue;
      complete++;
      const value = JSON.parse(text) as Record<string, unknown>;
      assert.deepEqual(Object.keys(value), ['city', 'days', 'unit', 'tags'], text);
      assert.equal(typeof value.city, 'string');
      assert.ok(Number.isInteger(value.days));
      assert.match(String(value.unit), /^[CF]$/);
      assert.ok((value.tags as unknown[]).every((tag) => typeof tag === 'boolean'));
    }
    assert.ok(complete >= 4, `${complete} of 8 texts came to their end`);
  });
}

test('a schema that the library cannot take is refused, and texts under way go on', async () => {
  const tokenizer = await bundledTokenizer();
  const source = sourceOf(tokenizer);
  using under = await source.constrain({ kind: 'schema', schema: SCHEMA });
  const mask = new Int32Array(Math.ceil(tokenizer.vocabularySize / 32));
  await under.fill(mask);
  const before = allowed(mask, tokenizer.vocabularySize);
  let deep: unknown = {};
  for (let i = 0; i < 40; i++) deep = { type: 'object', properties: { a: deep } };
  const wrong = [
    { type: 'objekt' },
    { anyOf: [] },
    { $ref: '#/nowhere' },
    deep,
    'x'.repeat(200_000),
    7,
    null,
  ];
  for (const schema of wrong) {
    await assert.rejects(
      source.constrain({ kind: 'schema', schema }),
      (error) => isRocmforgeError(error, 'GRAMMAR_INVALID') && !error.message.includes('/cpp/'),
      JSON.stringify(schema).slice(0, 60),
    );
  }
  await under.fill(mask);
  assert.deepEqual(allowed(mask, tokenizer.vocabularySize), before);
  using _again = await source.constrain({ kind: 'schema', schema: SCHEMA });
});

test('grammars that are asked for at the same time each get an answer of their own', async () => {
  const tokenizer = await tinyTokenizer();
  const source = sourceOf(tokenizer);
  // More than are kept compiled; every fifth is wrong.
  const answers = Array.from({ length: 70 }, (_, i) => {
    const property = { [`k${i}`]: { type: i % 5 === 4 ? `type-${i}-` : 'string' } };
    return source.constrain({ kind: 'schema', schema: { type: 'object', properties: property } });
  });
  for (const [i, answer] of (await Promise.allSettled(answers)).entries()) {
    if (answer.status === 'fulfilled') answer.value[Symbol.dispose]();
    else {
      assert.ok(isRocmforgeError(answer.reason, 'GRAMMAR_INVALID'));
      const named = answer.reason.message.match(/type-\d+-/g);
      assert.deepEqual(named, [`type-${i}-`], 'the reason is its own');
    }
    assert.equal(answer.status, i % 5 === 4 ? 'rejected' : 'fulfilled');
  }
});

test('what cannot be written as JSON, or is nested too deep for that, is no grammar', async () => {
  const source = sourceOf(await tinyTokenizer());
  const circular: Record<string, unknown> = { type: 'object' };
  circular.properties = { again: circular };
  let deep: unknown = {};
  for (let i = 0; i < 20_000; i++) deep = { not: deep };
  for (const schema of [circular, deep]) {
    await assert.rejects(source.constrain({ kind: 'schema', schema }), (error) =>
      isRocmforgeError(error, 'GRAMMAR_INVALID'),
    );
  }
});

test('a library that could not be started is started again for the next who asks', async () => {
  const tokenizer = await tinyTokenizer();
  let openings = 0;
  // The first instance for trials and the first for texts do not start.
  const flaky = () =>
    ++openings % 2 === 1 ? Promise.reject(new Error('not there yet')) : openGrammarRealm();
  const source = new GrammarSource(tokenizer, tokenizer.vocabularySize, flaky);
  for (let failures = 0; failures < 2; failures++)
    await assert.rejects(source.constrain({ kind: 'json' }), { message: 'not there yet' });
  using constraint = await source.constrain({ kind: 'json' });
  assert.ok(!constraint.isComplete);
  assert.equal(openings, 4);
});

/** An object whose properties are all there and can have one value each. */
function wideSchema(count: number): unknown {
  const names = Array.from({ length: count }, (_, i) => `k${i}`);
  const properties = Object.fromEntries(names.map((name, i) => [name, { const: i }]));
  return { type: 'object', properties, required: names };
}

test('a wide object is written on one line', async () => {
  const tokenizer = await bundledTokenizer();
  const grammar: Grammar = { kind: 'schema', schema: wideSchema(60) };
  const text = await randomText(sourceOf(tokenizer), grammar, tokenizer, 1);
  const expected = Array.from({ length: 60 }, (_, i) => `"k${i}": ${i}`).join(', ');
  assert.equal(text, `{${expected}}`);
});

test('a schema of too many parts is refused before the library sees it, and the limit is named', async () => {
  const tokenizer = await tinyTokenizer();
  const source = new GrammarSource(tokenizer, tokenizer.vocabularySize, () =>
    assert.fail('the library is not needed'),
  );
  const anyOf = (count: number) => ({ anyOf: Array.from({ length: count }, () => true) });
  const tag = (count: number) => ({
    type: 'tag' as const,
    begin: '<a>',
    content: { type: 'json_schema' as const, json_schema: anyOf(count) },
    end: '</a>',
  });
  const elements = Array.from({ length: 5 }, () => tag(1000));
  const refused: [Grammar, string][] = [
    [{ kind: 'schema', schema: wideSchema(1100) }, '1024'],
    [{ kind: 'tags', format: tag(1100) }, '1024'],
    [{ kind: 'tags', format: { type: 'or', elements } }, '4096'],
  ];
  for (const [grammar, limit] of refused) {
    await assert.rejects(
      source.constrain(grammar),
      (error) => isRocmforgeError(error, 'GRAMMAR_INVALID') && error.message.includes(limit),
    );
  }
});
