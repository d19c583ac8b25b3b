import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { isRocmforgeError } from '../../../src/base/errors.ts';
import { type Grammar, schemaGrammar, type TokenGrammar } from '../../../src/grammar/index.ts';
import { byteGrammar, isText, SPELLED } from './byte-matcher.ts';
import { randomSchema, type Schema, VALUES } from './random-schemas.ts';
import fc from '../fast-check.ts';

/** The numbers of schemas and texts that were checked, and of refused schemas by keyword or error code. */
export interface WalkCounts {
  schemas: number;
  texts: number;
  values: number;
  readonly refused: Map<string, number>;
}

/** Characters that a walk prefers, so that the text becomes interesting and ends. */
const LIKELY = new Set(Buffer.from('"{}[],:0123456789.-ab ctrufalsenx\\'));
const CLOSING = new Set(Buffer.from('"}]0123456789.e'));
const LONGEST = 400;

/** A random text of a grammar, chosen by token masks. Fails if a text can neither end nor continue. */
function walk(grammar: TokenGrammar, random: () => number): string | undefined {
  const matcher = grammar.matcher();
  const mask = new Int32Array(Math.ceil((SPELLED.length + 1) / 32));
  const read: Uint8Array[] = [];
  while (!matcher.canEnd || (read.length < LONGEST && random() < 0.7 && !matcher.isComplete)) {
    if (read.length > 4 * LONGEST) return undefined;
    const next = matcher.fill(mask) ? choose(mask, read.length, random) : undefined;
    if (next === undefined) assert.fail(`nothing follows ${JSON.stringify(Buffer.concat(read).toString())}`);
    matcher.accept(next);
    read.push(SPELLED[next] ?? new Uint8Array(0));
  }
  return Buffer.concat(read).toString();
}

/** A random token that the mask allows; undefined if there is none. */
function choose(mask: Int32Array, length: number, random: () => number): number | undefined {
  const allowed: number[] = [];
  for (let id = 0; id < SPELLED.length; id++) {
    if (((mask[id >> 5] as number) >>> (id & 31)) & 1) allowed.push(id);
  }
  const wanted = length > LONGEST ? CLOSING : random() < 0.8 ? LIKELY : undefined;
  const some = wanted ? allowed.filter((id) => wanted.has(SPELLED[id]?.[0] ?? 0)) : allowed;
  const from = some.length > 0 ? some : allowed;
  return from[Math.floor(random() * from.length)];
}

/** The grammar of a schema; undefined if it is refused with a typed error. */
function grammarOf(schema: Schema, counts: WalkCounts): { grammar: Grammar | undefined } | undefined {
  try {
    return { grammar: schemaGrammar(schema) };
  } catch (error) {
    if (!isRocmforgeError(error)) throw error;
    if (/no value satisfies/.test(error.message)) return { grammar: undefined };
    const why = isRocmforgeError(error, 'SCHEMA_UNSUPPORTED') ? error.params.keyword : error.code;
    counts.refused.set(why, (counts.refused.get(why) ?? 0) + 1);
    return undefined;
  }
}

/** The JSON of a value with its members in every order, since only some orders are allowed. */
function* writings(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) yield JSON.stringify(value);
  else for (const order of orders(Object.entries(value))) yield JSON.stringify(Object.fromEntries(order));
}

function* orders<Of>(list: readonly Of[]): Generator<Of[]> {
  if (list.length === 0) yield [];
  for (const [at, first] of list.entries()) {
    for (const rest of orders([...list.slice(0, at), ...list.slice(at + 1)])) yield [first, ...rest];
  }
}

/** A random source from 0 to 1 (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Compares random schemas of all keywords with an independent validator: what a grammar allows satisfies the schema,
 * and sample values that satisfy it are allowed, with their members in some order.
 */
export function walkSchemas(schemas: number, walks: number, seed?: number): WalkCounts {
  const counts: WalkCounts = { schemas: 0, texts: 0, values: 0, refused: new Map() };
  fc.assert(
    fc.property(randomSchema, fc.integer(), (schema, draws) =>
      walkSchema(schema, walks, randomOf(draws), counts),
    ),
    { numRuns: schemas, ...(seed !== undefined && { seed }) },
  );
  return counts;
}

/** The schema with `contains` moved to an `allOf`: beside `prefixItems: [false]`, ajv ignores it for empty arrays. */
function apart(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(apart);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner = Object.fromEntries(
    Object.entries(schema).map(([word, of]) => [word, word === 'const' || word === 'enum' ? of : apart(of)]),
  );
  if (!('contains' in inner)) return inner;
  const { contains, minContains, maxContains, allOf = [], ...rest } = inner;
  const own = {
    contains,
    ...(minContains !== undefined && { minContains }),
    ...(maxContains !== undefined && { maxContains }),
  };
  return { ...rest, allOf: [...(allOf as unknown[]), own] };
}

/** Ajv's answer, if it has one, except for `multipleOf`, which it checks with floating-point division. */
function validatorOf(schema: Schema): (value: unknown) => boolean | undefined {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false, logger: false });
  ajv.removeKeyword('multipleOf');
  const units = (value: number, places: number): bigint => {
    const [mantissa = '', exponent = '0'] = String(value).split('e');
    const [whole = '', fraction = ''] = mantissa.split('.');
    return BigInt(whole + fraction) * 10n ** BigInt(places - fraction.length + Number(exponent));
  };
  const validate = (step: number, value: number): boolean => units(value, 400) % units(step, 400) === 0n;
  ajv.addKeyword({ keyword: 'multipleOf', type: 'number', validate });
  // For some recursive schemas, and for unsatisfiable alternatives, ajv generates code that throws, or none.
  const answer = <Of>(ask: () => Of): Of | undefined => {
    try {
      return ask();
    } catch (error) {
      if (error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError)
        return undefined;
      throw error;
    }
  };
  const check = answer(() => ajv.compile(apart(schema) as Schema));
  return (value) => check && answer(() => check(value));
}

function walkSchema(schema: Schema, walks: number, random: () => number, counts: WalkCounts): void {
  counts.schemas++;
  const made = grammarOf(schema, counts);
  if (!made) return;
  const isValid = validatorOf(schema);
  const shown = JSON.stringify(schema);
  const compiled = made.grammar && byteGrammar(made.grammar);
  for (const value of VALUES) {
    counts.values++;
    const accepted = compiled && [...writings(value)].find((text) => isText(compiled, text));
    const expected = isValid(value);
    if (expected === undefined) continue;
    assert.equal(accepted !== undefined, expected, `${JSON.stringify(value)} under ${shown}`);
  }
  for (let turn = 0; compiled && turn < walks; turn++) {
    const text = walk(compiled, random);
    // Numbers that JavaScript cannot represent prove nothing.
    if (text === undefined || /\d{16}/.test(text.replaceAll('.', ''))) continue;
    counts.texts++;
    assert.ok(isValid(JSON.parse(text)) !== false, `${text} under ${shown}`);
  }
}
