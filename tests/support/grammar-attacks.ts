/** A chat request with a constraint that is expensive to enforce, as sent over the network. */
export interface GrammarAttack {
  readonly name: string;
  readonly body: string;
}

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function named<T>(count: number, make: (index: number) => T): Record<string, T> {
  return Object.fromEntries(times(count, (index) => [`name${index}`, make(index)]));
}

/** Schemas nested `depth` deep. */
function nested(depth: number, around: (inner: object) => object): object {
  let schema: object = { type: 'string' };
  for (let level = 0; level < depth; level++) schema = around(schema);
  return schema;
}

function object(properties: Record<string, unknown>, required = Object.keys(properties)): object {
  return { type: 'object', properties, required, additionalProperties: false };
}

const PATTERNS: Readonly<Record<string, string>> = {
  'pattern of 80 kB': `^${'(a|b)?c{1,3}'.repeat(6667)}$`,
  'pattern of 10^9 repetitions': '((a{0,1000}){0,1000}){0,1000}',
  'pattern that blows up as an automaton': `^(a|b)*a(a|b){${2000}}$`,
  'pattern of many overlapping parts': `^(${times(500, (i) => `.*${i}.*`).join('|')})$`,
  'pattern of assertions in repetitions': '((((((\\ba){0,16}b){0,16}c){0,16}d){0,16}e){0,16}f){0,16}',
  'pattern of lookaheads': `${times(40, (i) => `(?=.*${String.fromCharCode(97 + (i % 26))}.{${i}})`).join('')}.*`,
};

/** Each `allOf` doubles the alternatives. */
const BOMB = { allOf: times(40, (i) => ({ anyOf: [{ required: [`a${i}`] }, { required: [`b${i}`] }] })) };

const SCHEMAS: Readonly<Record<string, unknown>> = {
  ...Object.fromEntries(
    Object.entries(PATTERNS).map(([name, pattern]) => [name, { type: 'string', pattern }]),
  ),
  '300 nested objects': nested(300, (inner) => object({ a: inner })),
  '60 nested objects': nested(60, (inner) => object({ a: inner })),
  '1 000 required properties': object(named(1000, () => ({ type: 'string' }))),
  '1 000 optional properties': object(
    named(1000, () => ({ type: 'string' })),
    [],
  ),
  '5 000 values of an enum beside a pattern': {
    enum: times(5000, (index) => `value ${index}`),
    pattern: '^value .*[13579]$',
  },
  'maxLength of 1e6': { type: 'string', minLength: 10, maxLength: 1_000_000 },
  '12 overlapping patternProperties': {
    type: 'object',
    patternProperties: Object.fromEntries(
      times(12, (i) => [`.*${String.fromCharCode(97 + i)}.*`, { type: 'string', minLength: i }]),
    ),
  },
  'anyOf of 2 000 objects': {
    anyOf: times(2000, (index) => object({ kind: { const: `kind ${index}` }, value: { type: 'number' } })),
  },
  'chain of 5 000 $defs': {
    $ref: '#/$defs/name0',
    $defs: named(5000, (i) => (i === 4999 ? { type: 'null' } : { $ref: `#/$defs/name${i + 1}` })),
  },
  'allOf of 2^40 alternatives': BOMB,
  '1 024 objects with ten members in any order': {
    dependentSchemas: named(10, (i) => ({ required: [`other${i}`] })),
  },
  '16 Unicode properties': {
    pattern: `^[${['L', 'Lu', 'Ll', 'N', 'P', 'S', 'M', 'Z', 'Emoji', 'Alphabetic', 'Uppercase', 'ID_Start', 'ID_Continue', 'Script=Latin', 'Script=Greek', 'Script=Han'].map((name) => `\\p{${name}}`).join('')}]{1,1000}$`,
  },
  'references that double 60 times': {
    $ref: '#/$defs/name0',
    $defs: named(60, (i) =>
      i === 59
        ? { type: 'string', pattern: 'x' }
        : { allOf: [{ $ref: `#/$defs/name${i + 1}` }, { $ref: `#/$defs/name${i + 1}` }] },
    ),
  },
  'objects that double 40 times': {
    $ref: '#/$defs/name0',
    $defs: named(40, (i) =>
      i === 39
        ? { type: 'string' }
        : object({ a: { $ref: `#/$defs/name${i + 1}` }, b: { $ref: `#/$defs/name${i + 1}` } }),
    ),
  },
  'a reference to itself': { $ref: '#' },
  'a cycle of references': {
    $ref: '#/$defs/a',
    $defs: { a: { $ref: '#/$defs/b' }, b: { anyOf: [{ $ref: '#/$defs/a' }] } },
  },
  'a type that never ends': {
    $ref: '#/$defs/a',
    $defs: { a: object({ a: { $ref: '#/$defs/a' } }) },
  },
  'oneOf of 200 ranges': {
    oneOf: times(200, (i) => ({ type: 'number', minimum: i, maximum: i + 100, multipleOf: 0.01 })),
  },
  'uniqueItems of 500': {
    type: 'array',
    items: { enum: times(500, String) },
    uniqueItems: true,
    minItems: 400,
  },
  'multipleOf with 10^9 remainders': { type: 'number', multipleOf: 0.999_999_937 },
};

const GRAMMARS: Readonly<Record<string, string>> = {
  'left recursion': 'root ::= root "a" | root root | "b"',
  'a cycle of empty rules': 'root ::= a* "x"\na ::= b? a?\nb ::= a | ""',
  'nothing but itself': 'root ::= root',
  '1 MB of GBNF': `root ::= ${times(60_000, (index) => `"text ${index}"`).join(' | ')}`,
  '400 kB of rules': `root ::= r0\n${times(12_000, (i) => `r${i} ::= "a" r${(i + 1) % 12_000} | "b"`).join('\n')}`,
  'counts of counts': 'root ::= ((("a"{0,1000}){0,1000}){0,1000}){0,1000}',
  'ambiguous in every way': 'root ::= root root root | root root | [a-z ]+ | ""',
  'parentheses 100 000 deep': `root ::= ${'('.repeat(100_000)}"a"${')'.repeat(100_000)}`,
};

/** A tool with a schema of this many properties. */
function tool(index: number, properties: number): object {
  const parameters = object(
    named(properties, (i) => ({
      type: 'string',
      description: 'What is to be said of it.',
      pattern: `^${i}a*$`,
    })),
  );
  return { type: 'function', function: { name: `tool_${index}`, strict: true, parameters } };
}

/** The fields of each attack's request by name, or their text if nesting is too deep to serialize. */
function fields(): [string, string | object][] {
  const schemas = Object.entries(SCHEMAS).map(([name, schema]): [string, object] => [
    `schema: ${name}`,
    { response_format: { type: 'json_schema', json_schema: { name: 'a', schema } } },
  ]);
  const regexes = Object.entries(PATTERNS).map(([name, guided_regex]): [string, object] => [
    `guided_regex: ${name}`,
    { guided_regex },
  ]);
  const grammars = Object.entries(GRAMMARS).map(([name, grammar]): [string, object] => [
    `grammar: ${name}`,
    { grammar },
  ]);
  const deep = `${'{"not":'.repeat(10_000)}{}${'}'.repeat(10_000)}`;
  const tools = times(128, (i) => tool(i, 100));
  const fewer = times(128, (i) => tool(i, 30));
  return [
    ...schemas,
    ...regexes,
    ...grammars,
    ['schema of depth 10 000', `{"json_schema":${deep}}`],
    ['text of a schema of depth 10 000', { guided_json: deep }],
    ['guided_choice of 5 000', { guided_choice: times(5000, (i) => `choice number ${i}`) }],
    ['128 tools of 100 properties', { tools }],
    ['128 tools of 100 properties, forced', { tools, tool_choice: 'required' }],
    ['128 tools of 30 properties, forced', { tools: fewer, tool_choice: 'required' }],
    ['logit_bias of 100 000', { logit_bias: Object.fromEntries(times(100_000, (id) => [id, -1])) }],
    [
      '128 answers of 480 kB of choices',
      { n: 128, guided_choice: times(12_000, (i) => `choice that is number ${i} of very many`) },
    ],
    ['100 answers of 1 000 properties', { n: 100, json_schema: SCHEMAS['1 000 optional properties'] }],
  ];
}

/** The attacks, each merged with the rest of the request. */
export function grammarAttacks(request: Readonly<Record<string, unknown>>): GrammarAttack[] {
  const base = JSON.stringify(request).slice(0, -1);
  return fields().map(([name, of]) => {
    const text = typeof of === 'string' ? of : JSON.stringify(of);
    return { name, body: `${base},${text.slice(1)}` };
  });
}
