// Time of token masks: `node dist/bench/grammar-masks.js` after a build. Vocabulary: qwen2's 151 936 tokens, of the fixtures.
import {
  schemaGrammar,
  type Grammar,
  type GrammarVocabulary,
  jsonGrammar,
  PreparedVocabulary,
  TokenGrammar,
} from '../src/grammar/index.ts';
import type { Tokenizer } from '../src/text/index.ts';
import { vocabularyTokenizer } from '../tests/support/vocabularies.ts';

/** Times of one text, in microseconds. */
interface Times {
  readonly compiled: number;
  readonly masks: readonly number[];
  readonly accepts: readonly number[];
}

function vocabularyOf(tokenizer: Tokenizer): GrammarVocabulary {
  return {
    size: tokenizer.vocabularySize,
    endOfGeneration: new Set(tokenizer.special.endOfGeneration),
    kind: (id) => (tokenizer.isControl(id) ? 'control' : 'text'),
    bytes: (id) => tokenizer.tokenBytes(id),
  };
}

/** A person of several fields, with texts of limited length, lists and choices, as people ask for. */
const PERSON = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 60 },
    age: { type: 'integer', minimum: 0, maximum: 150 },
    email: { type: 'string', pattern: '^[a-z0-9.]+@[a-z0-9]+\\.[a-z]{2,6}$' },
    role: { enum: ['engineer', 'manager', 'designer', 'director of something'] },
    tags: { type: 'array', items: { type: 'string', maxLength: 20 }, uniqueItems: true, maxItems: 10 },
    address: {
      type: 'object',
      properties: {
        street: { type: 'string' },
        city: { type: 'string' },
        zip: { type: 'string', pattern: '^[0-9]{5}$' },
      },
      required: ['street', 'city'],
    },
    score: { type: 'number', multipleOf: 0.25, minimum: 0 },
  },
  required: ['name', 'age', 'role'],
  additionalProperties: false,
};

const person = (i: number) => ({
  name: `Maria van der Berg ${i}, called Mia`,
  age: 34 + i,
  email: `maria.${i}@example.org`,
  role: 'director of something',
  tags: ['alpha', 'beta', `number ${i}`, 'größer'],
  address: { street: `Lange Straße ${i}, second floor, at the back`, city: 'Köln', zip: '50667' },
  score: 12.75 + i,
});

const MANY = {
  type: 'object',
  properties: Object.fromEntries(
    Array.from({ length: 1000 }, (_, i) => [`property_${i}`, { type: ['string', 'number', 'null'] }]),
  ),
};

const CASES: readonly { name: string; grammar: () => Grammar; texts: readonly string[] }[] = [
  {
    name: 'any JSON',
    grammar: () => jsonGrammar(),
    texts: [0, 1, 2].map((i) => JSON.stringify({ people: [person(i), person(i + 3)], count: 2, next: null })),
  },
  {
    name: 'person',
    grammar: () => schemaGrammar(PERSON),
    texts: [0, 1, 2].map((i) => JSON.stringify(person(i))),
  },
  {
    name: 'persons',
    grammar: () => schemaGrammar({ type: 'array', items: PERSON }),
    texts: [JSON.stringify(Array.from({ length: 12 }, (_, i) => person(i)))],
  },
  {
    name: '1 000 properties',
    grammar: () => schemaGrammar(MANY),
    texts: [
      JSON.stringify(
        Object.fromEntries(
          Array.from({ length: 90 }, (_, i) => [`property_${i * 11}`, i % 3 === 0 ? null : `value ${i}`]),
        ),
      ),
    ],
  },
];

function measure(
  source: Grammar,
  vocabulary: PreparedVocabulary,
  tokenizer: Tokenizer,
  texts: readonly string[],
): Times[] {
  const before = performance.now();
  const grammar = new TokenGrammar(source, vocabulary);
  const compiled = (performance.now() - before) * 1000;
  const mask = new Int32Array(vocabulary.words);
  return texts.map((text) => {
    const matcher = grammar.matcher();
    const masks: number[] = [];
    const accepts: number[] = [];
    for (const id of tokenizer.encode(text, { addSpecial: false })) {
      const start = performance.now();
      matcher.fill(mask);
      const filled = performance.now();
      if ((((mask[id >>> 5] as number) >>> (id & 31)) & 1) === 0)
        throw new Error(`${JSON.stringify(tokenizer.tokenText(id))} is not in the mask of ${text}`);
      matcher.accept(id);
      masks.push((filled - start) * 1000);
      accepts.push((performance.now() - filled) * 1000);
    }
    return { compiled, masks, accepts };
  });
}

function quantile(values: readonly number[], part: number): string {
  const sorted = [...values].sort((a, b) => a - b);
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0).toFixed(0).padStart(6);
}

const tokenizer = await vocabularyTokenizer('qwen2');
const start = performance.now();
const vocabulary = new PreparedVocabulary(vocabularyOf(tokenizer));
console.log(
  `vocabulary of ${tokenizer.vocabularySize} tokens prepared in ${(performance.now() - start).toFixed(0)} ms`,
);
console.log('all in microseconds; compiling without making the grammar of the schema\n');
console.log('grammar            text tokens  schema compile  first   median    p99     max  accept');
for (const { name, grammar, texts } of CASES) {
  // Twice: what the second run shows is not the time of compiling JavaScript.
  for (const round of ['cold', 'warm']) {
    const from = performance.now();
    const source = grammar();
    const schema = (performance.now() - from) * 1000;
    for (const [i, { compiled, masks, accepts }] of measure(source, vocabulary, tokenizer, texts).entries()) {
      console.log(
        `${name.padEnd(17)} ${round} ${i}  ${String(masks.length).padStart(5)}  ${schema.toFixed(0).padStart(6)} ${compiled.toFixed(0).padStart(7)} ${(masks[0] ?? 0).toFixed(0).padStart(6)}  ${quantile(masks, 0.5)} ${quantile(masks, 0.99)}  ${quantile(masks, 1)}  ${quantile(accepts, 0.5)}`,
      );
    }
  }
}
