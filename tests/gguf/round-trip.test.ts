import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALL_FORMATS } from '../../src/formats/index.ts';
import {
  GgufFile,
  type GgufPlan,
  type GgufValue,
  GgufWriter,
  loadTensorBytes,
  loadTensorFloats,
} from '../../src/gguf/index.ts';
import { BlobSource, MemorySink, MemorySource } from '../../src/io/index.ts';
import { dataOf, fileOf, format, SMALL_PLAN } from '../support/gguf-files.ts';
import fc from '../support/fast-check.ts';

const PATTERN = {
  u8: fc.integer({ min: 0, max: 255 }),
  i16: fc.integer({ min: -32768, max: 32767 }),
  u32: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  i64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  u64: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  f32: fc.float(),
  f64: fc.double(),
} as const;

const numberTypes = fc.constantFrom(...(Object.keys(PATTERN) as (keyof typeof PATTERN)[]));
const text = fc.oneof(fc.string({ unit: 'binary' }), fc.uint8Array({ maxLength: 20 }));
const single: fc.Arbitrary<GgufValue> = fc.oneof(
  numberTypes.chain((type) => PATTERN[type].map((value) => ({ type, value }))),
  fc.boolean().map((value) => ({ type: 'bool' as const, value })),
  text.map((value) => ({ type: 'string' as const, value })),
);
const flat = fc.oneof(
  numberTypes.chain((element) =>
    fc
      .array<number | bigint>(PATTERN[element])
      .map((values) => ({ type: 'array' as const, element, values })),
  ),
  fc.array(fc.boolean()).map((values) => ({ type: 'array' as const, element: 'bool' as const, values })),
  fc.array(text).map((values) => ({ type: 'array' as const, element: 'string' as const, values })),
);
const nested = fc
  .array(
    fc.oneof(
      flat,
      fc.array(flat).map((values) => ({ type: 'array', element: 'array', values }) as const),
    ),
  )
  .map((values) => ({ type: 'array' as const, element: 'array' as const, values }));
const value: fc.Arbitrary<GgufValue> = fc.oneof(single, flat, nested);
const key = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 30 })
  .filter((k) => k !== 'general.alignment');

const tensors = fc.uniqueArray(
  fc.record({
    name: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }),
    format: fc.constantFrom(...ALL_FORMATS),
    blocks: fc.integer({ min: 0, max: 3 }),
    rest: fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 3 }),
  }),
  { selector: (tensor) => tensor.name, maxLength: 8 },
);

const plans: fc.Arbitrary<GgufPlan> = fc
  .record({
    version: fc.constantFrom(2 as const, 3 as const),
    alignment: fc.option(fc.constantFrom(1, 8, 32, 4096)),
    metadata: fc.uniqueArray(fc.tuple(key, value), { selector: ([k]) => k, maxLength: 8 }),
    tensors,
  })
  .map(({ version, alignment, metadata, tensors: planned }) => ({
    version,
    metadata: alignment
      ? [...metadata, ['general.alignment', { type: 'u32', value: alignment }] as const]
      : metadata,
    tensors: planned.map(({ name, format: each, blocks, rest }) => ({
      name,
      format: each,
      shape: [blocks * each.blockElements, ...rest],
    })),
  }));

function planOf(file: GgufFile): GgufPlan {
  const metadata = Array.from(file.metadata.keys(), (k) => {
    const encoded = file.metadata.encoded(k);
    assert.ok(encoded);
    return [k, encoded] as const;
  });
  return { version: file.version === 2 ? 2 : 3, metadata, tensors: file.tensors };
}

test('what was written is read, and written again byte for byte', async () => {
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const bytes = await fileOf(plan);
      await using file = await GgufFile.open(new MemorySource(bytes));
      assert.equal(file.version, plan.version);
      assert.deepEqual(
        [...file.metadata.keys()],
        Array.from(plan.metadata, ([k]) => k),
      );
      for (const k of file.metadata.keys()) file.metadata.get(k);
      for (const [index, tensor] of file.tensors.entries()) {
        const { name, format: written, shape } = tensor;
        assert.deepEqual({ name, format: written, shape }, plan.tensors[index]);
        assert.deepEqual(await loadTensorBytes(tensor), dataOf(tensor));
      }
      assert.deepEqual(await fileOf(planOf(file)), bytes);
    }),
    { numRuns: 300 },
  );
});

test('every value type comes back through its getter', async () => {
  await using file = await GgufFile.open(new BlobSource(new Blob([await fileOf(SMALL_PLAN)])));
  const { metadata } = file;
  const numbers = {
    'a.u8': 200,
    'a.i8': -100,
    'a.u16': 60000,
    'a.i16': -30000,
    'a.u32': 4e9,
    'a.i32': -2e9,
    'a.f32': 1.5,
    'a.u64': 2 ** 40,
    'a.i64': -(2 ** 40),
    'a.f64': Math.PI,
  };
  for (const [k, expected] of Object.entries(numbers)) {
    assert.equal(metadata.number(k), expected);
    assert.equal(metadata.requireNumber(k), expected);
    assert.equal(metadata.get(k), expected);
    assert.equal(metadata.typeOf(k), k.slice(2));
  }
  assert.equal(metadata.requireString('general.architecture'), 'llama');
  assert.equal(metadata.requireBoolean('a.bool'), true);
  assert.equal(metadata.get('a.huge'), 2n ** 63n);
  assert.deepEqual(metadata.strings('tokens'), ['<s>', 'é', '\ufeff', '日本', '😀', '']);
  assert.equal(metadata.strings('tokens'), metadata.strings('tokens'));
  assert.deepEqual(metadata.strings('bytes'), ['\ufffd\ufffd', 'ok']);
  assert.deepEqual(metadata.byteStrings('bytes'), [
    Uint8Array.of(0xff, 0xc3),
    new TextEncoder().encode('ok'),
  ]);
  assert.deepEqual(metadata.requireNumbers('scores'), Float32Array.of(0, -1.5, 2));
  assert.deepEqual(metadata.booleans('flags'), [true, false]);
  assert.equal(metadata.numbers('empty')?.length, 0);
  assert.deepEqual(metadata.get('nested'), [Int32Array.of(1, 2), ['x']]);
  assert.equal(metadata.typeOf('nested'), 'i32[][]');
  assert.equal(metadata.typeOf('tokens'), 'string[]');
  assert.equal(metadata.lengthOf('tokens'), 6);
  assert.equal(metadata.lengthOf('a.u8'), undefined);
});

test('absent keys are undefined or a typed error, and so is every wrong type', async () => {
  await using file = await GgufFile.open(new MemorySource(await fileOf(SMALL_PLAN)));
  const { metadata } = file;
  for (const get of [
    'get',
    'string',
    'number',
    'boolean',
    'strings',
    'numbers',
    'booleans',
    'byteStrings',
    'typeOf',
  ] as const) {
    assert.equal(metadata[get]('absent'), undefined);
  }
  const requirers = [
    'requireString',
    'requireNumber',
    'requireBoolean',
    'requireStrings',
    'requireNumbers',
  ] as const;
  for (const get of requirers)
    assert.throws(() => metadata[get]('absent'), { code: 'GGUF_METADATA_MISSING' });
  const wrong = [
    () => metadata.string('a.u8'),
    () => metadata.number('tokens'),
    () => metadata.number('a.bool'),
    () => metadata.number('a.huge'),
    () => metadata.boolean('a.u8'),
    () => metadata.strings('scores'),
    () => metadata.strings('a.u8'),
    () => metadata.numbers('tokens'),
    () => metadata.numbers('a.u8'),
    () => metadata.booleans('scores'),
  ];
  for (const get of wrong) assert.throws(get, { code: 'GGUF_METADATA_TYPE' });
});

test('strings of a length that looks like text, and groups with bad bytes, keep their borders', async () => {
  const values = Array.from({ length: 700 }, (_, index) => 'ä'.repeat(index % 300) + index);
  const bad = Array.from({ length: 600 }, (_, index) =>
    index === 400 ? Uint8Array.of(0xe2, 0x82) : `t${index}`,
  );
  const bytes = await fileOf({
    metadata: [
      ['values', { type: 'array', element: 'string', values }],
      ['bad', { type: 'array', element: 'string', values: bad }],
    ],
    tensors: [],
  });
  await using file = await GgufFile.open(new MemorySource(bytes));
  assert.deepEqual(file.metadata.strings('values'), values);
  assert.deepEqual(
    file.metadata.strings('bad'),
    bad.map((t) => (typeof t === 'string' ? t : '\ufffd')),
  );
});

test('tensors are found by name and decode', async () => {
  await using file = await GgufFile.open(new BlobSource(new Blob([await fileOf(SMALL_PLAN)])));
  const name = SMALL_PLAN.tensors.find((tensor) => tensor.format.name === 'Q8_0')?.name ?? '';
  const tensor = file.requireTensor(name);
  const floats = await loadTensorFloats(tensor);
  assert.equal(floats.length, tensor.elementCount);
  assert.equal(file.tensor('absent'), undefined);
  assert.throws(() => file.requireTensor('absent'), { code: 'GGUF_TENSOR_MISSING' });
});

test('a plan that no reader would take is refused', async () => {
  const q8 = { name: 'w', format: format('Q8_0'), shape: [32] };
  const plans: [string, GgufPlan][] = [
    ['a shape not of whole blocks', { metadata: [], tensors: [{ ...q8, shape: [33] }] }],
    ['five dimensions', { metadata: [], tensors: [{ ...q8, shape: [32, 1, 1, 1, 1] }] }],
    ['a negative dimension', { metadata: [], tensors: [{ ...q8, shape: [32, -1] }] }],
    ['a name twice', { metadata: [], tensors: [q8, q8] }],
    ['an empty name', { metadata: [], tensors: [{ ...q8, name: '' }] }],
    ['a number out of range', { metadata: [['k', { type: 'u8', value: 256 }]], tensors: [] }],
    ['a fraction', { metadata: [['k', { type: 'i32', value: 0.5 }]], tensors: [] }],
    ['an odd alignment', { metadata: [['general.alignment', { type: 'u32', value: 24 }]], tensors: [] }],
  ];
  for (const [what, plan] of plans) {
    await assert.rejects(fileOf(plan), { code: 'INVALID_ARGUMENT' }, what);
  }
});

test('a writer refuses too much data and too little', async () => {
  const plan = { metadata: [], tensors: [{ name: 'w', format: format('F32'), shape: [4] }] };
  const writer = await GgufWriter.begin(new MemorySink(), plan);
  await writer.write(new Uint8Array(10));
  assert.throws(() => writer.end(), { code: 'INVALID_ARGUMENT' });
  await assert.rejects(writer.write(new Uint8Array(7)), { code: 'INVALID_ARGUMENT' });
  await writer.write(new Uint8Array(6));
  writer.end();
  await assert.rejects(writer.write(new Uint8Array(1)), { code: 'INVALID_ARGUMENT' });
});
