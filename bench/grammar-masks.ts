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

const RUNS = 9;

/** Times of one run, in microseconds: of compiling, and of each mask of each text. */
interface Times {
  readonly compile: number;
  readonly masks: readonly (readonly number[])[];
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

const NAMES = Array.from({ length: 1000 }, (_, i) => `property_${i}`);

/** A schema of 1 000 properties, and more that it says. */
function many(property: object, more: object = {}): object {
  return { type: 'object', properties: Object.fromEntries(NAMES.map((name) => [name, property])), ...more };
}

const SCALAR = { type: ['string', 'number', 'null'] };
const POINT = { type: 'object', properties: { x: { type: 'number' }, y: SCALAR }, required: ['x'] };

/** The text of every so many of the 1 000. */
function manyText(step: number, valueOf: (i: number) => unknown): string {
  const some = NAMES.flatMap((name, i) => (i % step === 0 ? [[name, valueOf(i)] as const] : []));
  return JSON.stringify(Object.fromEntries(some));
}

const scalarOf = (i: number) => (i % 3 === 0 ? null : `value ${i}`);

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
    grammar: () => schemaGrammar(many(SCALAR)),
    texts: [manyText(11, scalarOf)],
  },
  {
    name: '1 000, no others',
    grammar: () => schemaGrammar(many(SCALAR, { additionalProperties: false })),
    texts: [manyText(11, scalarOf)],
  },
  {
    name: '1 000 required',
    grammar: () => schemaGrammar(many(SCALAR, { required: NAMES, additionalProperties: false })),
    texts: [manyText(1, scalarOf)],
  },
  {
    name: '1 000 objects',
    grammar: () => schemaGrammar(many(POINT)),
    texts: [manyText(11, (i) => ({ x: i, y: scalarOf(i) }))],
  },
];

/** One run through all texts with a grammar that is new. */
function measure(
  source: Grammar,
  vocabulary: PreparedVocabulary,
  tokenizer: Tokenizer,
  texts: readonly string[],
): Times {
  const before = performance.now();
  const grammar = new TokenGrammar(source, vocabulary);
  const compile = (performance.now() - before) * 1000;
  const mask = new Int32Array(vocabulary.words);
  const masks = texts.map((text) => {
    const matcher = grammar.matcher();
    return tokenizer.encode(text, { addSpecial: false }).map((id) => {
      const start = performance.now();
      matcher.fill(mask);
      const time = (performance.now() - start) * 1000;
      if ((((mask[id >>> 5] as number) >>> (id & 31)) & 1) === 0) {
        throw new Error(`${JSON.stringify(tokenizer.tokenText(id))} is not in the mask: ${text}`);
      }
      matcher.accept(id);
      return time;
    });
  });
  return { compile, masks };
}

/** Of each time the shortest of all runs: what else the machine does is not the grammar's. */
function shortest(runs: readonly Times[]): Times {
  const [first] = runs as [Times];
  return {
    compile: Math.min(...runs.map(({ compile }) => compile)),
    masks: first.masks.map((times, text) =>
      times.map((_, token) => Math.min(...runs.map(({ masks }) => masks[text]?.[token] ?? Infinity))),
    ),
  };
}

function quantile(values: readonly number[], part: number): string {
  const sorted = [...values].sort((a, b) => a - b);
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0).toFixed(0);
}

const tokenizer = await vocabularyTokenizer('qwen2');
const start = performance.now();
const vocabulary = new PreparedVocabulary(vocabularyOf(tokenizer));
const prepared = performance.now() - start;
console.log(`vocabulary of ${tokenizer.vocabularySize} tokens prepared in ${prepared.toFixed(0)} ms`);
console.log(
  `microseconds, the shortest of ${RUNS} runs with a new grammar each; texts in order, later ones find what is kept\n`,
);
console.log('grammar           text  tokens  schema compile   first  median     p99     max');
for (const { name, grammar, texts } of CASES) {
  const runs: Times[] = [];
  let schema = Infinity;
  for (let run = 0; run < RUNS; run++) {
    const from = performance.now();
    const source = grammar();
    schema = Math.min(schema, (performance.now() - from) * 1000);
    runs.push(measure(source, vocabulary, tokenizer, texts));
  }
  const { compile, masks } = shortest(runs);
  for (const [i, times] of masks.entries()) {
    const columns = [
      String(times.length).padStart(7),
      schema.toFixed(0).padStart(8),
      compile.toFixed(0).padStart(7),
      (times[0] ?? 0).toFixed(0).padStart(7),
      ...[0.5, 0.99, 1].map((part) => quantile(times, part).padStart(7)),
    ];
    console.log(`${name.padEnd(19)}${String(i).padStart(3)} ${columns.join(' ')}`);
  }
}
