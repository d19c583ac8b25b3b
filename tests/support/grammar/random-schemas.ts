import fc from '../fast-check.ts';
/** A JSON schema as data. */
export type Schema = boolean | { readonly [keyword: string]: unknown };

const NAMES = ['a', 'b', 'c', 'x"y', 'é\\'] as const;
const PATTERNS = [
  '^a',
  'b$',
  '^[a-c]{1,3}$',
  '\\d',
  '^(?:x|é)+$',
  '^.{0,2}$',
  '^(?!a)',
  '\\bb',
  '😀',
] as const;
const NUMBERS = [-2, -1.5, -0.1, 0, 0.5, 1, 1.5, 2, 3, 10, 1e-7] as const;
const STEPS = [1, 2, 3, 0.5, 0.1, 0.25, 10] as const;

/** Values that random schemas use. */
export const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  ...NUMBERS,
  ...['', 'a', 'ab', 'abc', 'b', 'x', 'éé', '1', '😀', 'a b', 'cab"', '\n'],
  [],
  [1],
  [1, 1],
  [1, 2],
  ['a', 1],
  [null, true, 'b', 3],
  [[]],
  [{ a: 1 }],
  {},
  { a: 1 },
  { a: 'a' },
  { b: 1 },
  { a: 1, b: 'b' },
  { a: null, b: 2, c: [] },
  { a: { a: 1 }, c: 'ab' },
  { 'x"y': 1.5 },
  { a: 0, c: 0, 'x"y': 0, 'é\\': 0 },
];

const name = fc.constantFrom(...NAMES);
const names = fc.uniqueArray(name, { maxLength: 3 }).map(inOrder);
const count = fc.nat(4);
const type = fc.constantFrom('null', 'boolean', 'number', 'integer', 'string', 'array', 'object');
const value = fc.constantFrom(...VALUES);

function inOrder(of: readonly string[]): string[] {
  return NAMES.filter((known) => of.includes(known));
}

function members<Of>(of: fc.Arbitrary<Of>): fc.Arbitrary<Record<string, Of>> {
  return fc
    .dictionary(name, of, { maxKeys: 3, noNullPrototype: true })
    .map((map) => Object.fromEntries(inOrder(Object.keys(map)).map((key) => [key, map[key] as Of])));
}

const { schema } = fc.letrec<{ schema: Schema; keywords: Schema }>((tie) => {
  const inner = tie('schema');
  const list = fc.array(inner, { minLength: 1, maxLength: 3 });
  const keyword: Record<string, fc.Arbitrary<unknown>> = {
    type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })),
    enum: fc.array(value, { minLength: 1, maxLength: 4 }),
    const: value,
    minimum: fc.constantFrom(...NUMBERS),
    maximum: fc.constantFrom(...NUMBERS),
    exclusiveMinimum: fc.constantFrom(...NUMBERS),
    exclusiveMaximum: fc.constantFrom(...NUMBERS),
    multipleOf: fc.constantFrom(...STEPS),
    minLength: count,
    maxLength: count,
    pattern: fc.constantFrom(...PATTERNS),
    format: fc.constantFrom('date', 'color'),
    properties: members(inner),
    required: names,
    additionalProperties: inner,
    patternProperties: fc.dictionary(fc.constantFrom(...PATTERNS), inner, {
      maxKeys: 2,
      noNullPrototype: true,
    }),
    propertyNames: inner,
    minProperties: count,
    maxProperties: count,
    dependentRequired: members(names),
    dependentSchemas: members(inner),
    items: inner,
    prefixItems: list,
    minItems: count,
    maxItems: count,
    uniqueItems: fc.boolean(),
    contains: inner,
    minContains: count,
    maxContains: count,
    allOf: list,
    anyOf: list,
    oneOf: list,
    not: inner,
    if: inner,
    then: inner,
    else: inner,
    $ref: fc.constantFrom('#', '#/$defs/one', '#two'),
    title: fc.constant('a title'),
    unknown: fc.constant({ type: 'null' }),
  };
  return {
    schema: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      { weight: 1, arbitrary: fc.boolean() },
      { weight: 2, arbitrary: fc.record({ type }) },
      { weight: 8, arbitrary: tie('keywords') },
    ),
    keywords: fc
      .uniqueArray(fc.constantFrom(...Object.keys(keyword)), { minLength: 1, maxLength: 4 })
      .chain((chosen) =>
        fc.record(Object.fromEntries(chosen.map((word) => [word, keyword[word] as fc.Arbitrary<unknown>]))),
      ),
  };
});

/**
 * Keywords that depend on what others evaluated: only at the root, and not beside schemas applied in place, whose
 * evaluation ajv loses track of (it ignores `items: true` inside a `oneOf`).
 */
const unevaluated = fc.record(
  { unevaluatedProperties: schema, unevaluatedItems: schema },
  { requiredKeys: [], noNullPrototype: true },
);

const IN_PLACE = ['allOf', 'anyOf', 'oneOf', 'not', 'if', '$ref', 'dependentSchemas', 'contains'];

/** Random schemas with every keyword, and definitions that they reference. */
export const randomSchema: fc.Arbitrary<Schema> = fc
  .tuple(schema, schema, schema, fc.option(unevaluated, { freq: 4, nil: {} }))
  .map(([root, one, two, more]) => {
    if (typeof root === 'boolean') return root;
    const anchored = typeof two === 'boolean' ? { allOf: [two] } : two;
    const isPlain = IN_PLACE.every((word) => !(word in root));
    return { ...root, ...(isPlain && more), $defs: { one, two: { ...anchored, $anchor: 'two' } } };
  });
