// The time of token masks: `node dist/bench/grammar-masks.js` after a build. Uses qwen2's vocabulary of 151 936 tokens
// from the fixtures.
import { readFileSync } from 'node:fs';
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
  /** CPU time of this thread from the start of the grammar to the first mask. */
  readonly ready: number;
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

/** A person with several fields, with strings of limited length, lists and choices: a typical schema. */
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

/** A schema of 1 000 properties, with additional keywords. */
function many(property: object, more: object = {}): object {
  return { type: 'object', properties: Object.fromEntries(NAMES.map((name) => [name, property])), ...more };
}

const SCALAR = { type: ['string', 'number', 'null'] };
const POINT = { type: 'object', properties: { x: { type: 'number' }, y: SCALAR }, required: ['x'] };
const CLOSED = { additionalProperties: false };

/** An object different from all others. */
function different(i: number): object {
  const list = { type: 'array', items: { enum: [`a${i}`, 'b'] } };
  const properties = { x: { type: 'number', minimum: i }, y: { type: 'string', maxLength: i + 1 }, list };
  return { type: 'object', properties, required: ['x'], ...CLOSED };
}

/** One of 1 000 objects, distinguished by their first member. */
const KINDS = NAMES.map((name) => {
  const properties = { kind: { const: name }, value: SCALAR };
  return { type: 'object', properties, required: ['kind', 'value'], ...CLOSED };
});

/** Objects nested 1 000 deep. */
const CHAIN = {
  $ref: '#/$defs/property_0',
  $defs: Object.fromEntries(
    NAMES.map((name, i) => {
      const next = i === 999 ? { type: 'null' } : { $ref: `#/$defs/property_${i + 1}` };
      return [name, { type: 'object', properties: { v: { type: 'number' }, next }, ...CLOSED }];
    }),
  ),
};

/** The text with every n-th of the 1 000. */
function manyText(step: number, valueOf: (i: number) => unknown): string {
  const some = NAMES.flatMap((name, i) => (i % step === 0 ? [[name, valueOf(i)] as const] : []));
  return JSON.stringify(Object.fromEntries(some));
}

const scalarOf = (i: number) => (i % 3 === 0 ? null : `value ${i}`);

/** Some members that ask for others, which come later. */
const ASKING = Object.fromEntries(
  Array.from({ length: 8 }, (_, i) => [`property_${i * 100}`, [`property_${i * 100 + 50}`]]),
);

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
    name: '1 000, some required',
    grammar: () => schemaGrammar(many(SCALAR, { required: NAMES.filter((_, i) => i % 11 === 0), ...CLOSED })),
    texts: [manyText(11, scalarOf)],
  },
  {
    name: '1 000 and patterns',
    grammar: () =>
      schemaGrammar(
        many(SCALAR, { patternProperties: { '^x_': { type: 'null' }, '9$': { maxLength: 20 } }, ...CLOSED }),
      ),
    texts: [manyText(11, scalarOf)],
  },
  {
    name: '1 000 objects',
    grammar: () => schemaGrammar(many(POINT)),
    texts: [manyText(11, (i) => ({ x: i, y: scalarOf(i) }))],
  },
  {
    name: '1 000 other objects',
    grammar: () =>
      schemaGrammar({
        ...many({}),
        properties: Object.fromEntries(NAMES.map((name, i) => [name, different(i)])),
      }),
    texts: [manyText(11, (i) => ({ x: i + 1, y: 'y', list: ['b', `a${i}`] }))],
  },
  {
    name: '1 000 in arrays',
    grammar: () => schemaGrammar({ type: 'array', items: { type: 'array', items: many(POINT, CLOSED) } }),
    texts: [`[[${manyText(11, (i) => ({ x: i, y: scalarOf(i) }))}]]`],
  },
  {
    name: 'enum of 1 000',
    grammar: () => schemaGrammar({ type: 'array', items: { enum: NAMES.map((name) => `${name} of them`) } }),
    texts: [JSON.stringify(NAMES.slice(0, 40).map((name) => `${name} of them`))],
  },
  {
    name: 'anyOf of 1 000',
    grammar: () => schemaGrammar({ type: 'array', items: { anyOf: KINDS } }),
    texts: [JSON.stringify(NAMES.slice(0, 20).map((kind) => ({ kind, value: 'some text' })))],
  },
  {
    name: 'oneOf of 1 000',
    grammar: () => schemaGrammar({ oneOf: KINDS }),
    texts: [JSON.stringify({ kind: 'property_500', value: 'some text' })],
  },
  {
    name: '10 x 100 in allOf',
    grammar: () =>
      schemaGrammar({
        allOf: Array.from({ length: 10 }, (_, part) => ({
          properties: Object.fromEntries(
            NAMES.slice(part * 100, part * 100 + 100).map((name) => [name, SCALAR]),
          ),
        })),
      }),
    texts: [manyText(11, scalarOf)],
  },
  {
    name: '1 000, some ask',
    grammar: () => schemaGrammar(many(SCALAR, { dependentRequired: ASKING })),
    texts: [manyText(50, scalarOf)],
  },
  {
    name: '1 000 $defs',
    grammar: () => schemaGrammar(CHAIN),
    texts: [JSON.stringify({ v: 1, next: { v: 2, next: { v: 3 } } })],
  },
];

/** Microseconds of CPU time that this thread has used, if Linux reports it; meaningful on a busy machine, too. */
function processorUs(): number {
  try {
    const [nanoseconds] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ');
    return Number(nanoseconds) / 1000;
  } catch {
    return Number.NaN;
  }
}

/** One run through all texts with a new grammar, started when the CPU time was `from`. */
function measure(
  source: Grammar,
  vocabulary: PreparedVocabulary,
  tokenizer: Tokenizer,
  { texts, from }: { texts: readonly string[]; from: number },
): Times {
  const before = performance.now();
  const grammar = new TokenGrammar(source, vocabulary);
  const compile = (performance.now() - before) * 1000;
  const mask = new Int32Array(vocabulary.words);
  let ready = Number.NaN;
  const masks = texts.map((text) => {
    const matcher = grammar.matcher();
    return tokenizer.encode(text, { addSpecial: false }).map((id) => {
      const start = performance.now();
      matcher.fill(mask);
      const time = (performance.now() - start) * 1000;
      if (Number.isNaN(ready)) ready = processorUs() - from;
      if ((((mask[id >>> 5] as number) >>> (id & 31)) & 1) === 0) {
        throw new Error(`${JSON.stringify(tokenizer.tokenText(id))} is not in the mask: ${text}`);
      }
      matcher.accept(id);
      return time;
    });
  });
  return { compile, ready, masks };
}

/** The minimum of each time over all runs, to exclude other load of the machine. */
function shortest(runs: readonly Times[]): Times {
  const [first] = runs as [Times];
  return {
    compile: Math.min(...runs.map(({ compile }) => compile)),
    // The clock of CPU time advances in steps of milliseconds.
    ready: runs.reduce((sum, { ready }) => sum + ready, 0) / runs.length,
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
  `microseconds, the shortest of ${RUNS} runs with a new grammar each; texts in order, later ones find what is kept;\n` +
    '`ready` is the mean of the processor time from the schema to the first mask\n',
);
console.log('grammar                text  tokens  schema compile   first   ready  median     p99     max');
for (const { name, grammar, texts } of CASES) {
  const runs: Times[] = [];
  let schema = Infinity;
  for (let run = 0; run < RUNS; run++) {
    const from = processorUs();
    const start = performance.now();
    const source = grammar();
    schema = Math.min(schema, (performance.now() - start) * 1000);
    runs.push(measure(source, vocabulary, tokenizer, { texts, from }));
  }
  const { compile, ready, masks } = shortest(runs);
  for (const [i, times] of masks.entries()) {
    const columns = [
      String(times.length).padStart(7),
      schema.toFixed(0).padStart(8),
      compile.toFixed(0).padStart(7),
      (times[0] ?? 0).toFixed(0).padStart(7),
      ready.toFixed(0).padStart(7),
      ...[0.5, 0.99, 1].map((part) => quantile(times, part).padStart(7)),
    ];
    console.log(`${name.padEnd(24)}${String(i).padStart(3)} ${columns.join(' ')}`);
  }
}
