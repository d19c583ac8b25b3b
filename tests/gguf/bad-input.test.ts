import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErrorCode } from '../../src/base/errors.ts';
import { ByteBuilder } from '../../src/gguf/byte-builder.ts';
import { GgufFile, GgufWriter } from '../../src/gguf/index.ts';
import { MemorySink, MemorySource } from '../../src/io/index.ts';
import { CountingSource } from '../fuzz/counting-source.ts';
import { format } from '../support/gguf-files.ts';

const U8 = 0;
const U32 = 4;
const STRING = 8;
const ARRAY = 9;
const F32 = 0;
const Q8_0 = 8;

type Write = (out: ByteBuilder) => void;

interface Counts {
  readonly tensors?: number | bigint;
  readonly pairs?: number | bigint;
}

/** A file from a header with the given counts and whatever follows. */
function header({ tensors = 0, pairs = 0 }: Counts, ...rest: Write[]): Uint8Array {
  const out = new ByteBuilder();
  out.raw(new TextEncoder().encode('GGUF'));
  out.u32(3);
  out.number('u64', tensors);
  out.number('u64', pairs);
  for (const write of rest) write(out);
  return out.bytes();
}

function pair(key: string | Uint8Array, type: number, write: Write): Write {
  return (out) => {
    out.text(key);
    out.u32(type);
    write(out);
  };
}

interface Entry {
  readonly name?: string | Uint8Array;
  readonly shape?: readonly (number | bigint)[];
  readonly type?: number;
  readonly offset?: number | bigint;
}

function tensor({ name = 'w', shape = [32], type = Q8_0, offset = 0 }: Entry): Write {
  return (out) => {
    out.text(name);
    out.u32(shape.length);
    for (const dimension of shape) out.number('u64', dimension);
    out.u32(type);
    out.number('u64', offset);
  };
}

const zeros =
  (count: number): Write =>
  (out) =>
    out.raw(new Uint8Array(count));
const u64 =
  (value: number | bigint): Write =>
  (out) =>
    out.number('u64', value);

function array(element: number, count: number | bigint, ...rest: Write[]): Write {
  return (out) => {
    out.u32(element);
    out.number('u64', count);
    for (const write of rest) write(out);
  };
}

function nestedArrays(depth: number): Write {
  return depth === 0 ? array(U8, 0) : array(ARRAY, 1, nestedArrays(depth - 1));
}

function preamble(text: string, version: number): Uint8Array {
  const out = new ByteBuilder();
  out.raw(new TextEncoder().encode(text));
  out.u32(version);
  out.raw(new Uint8Array(16));
  return out.bytes();
}

const BAD_UTF8 = Uint8Array.of(0x61, 0xff, 0x62);
const twoTensors = (second: Entry) =>
  header({ tensors: 2 }, tensor({ name: 'a', shape: [96] }), tensor({ name: 'b', ...second }), zeros(4096));

const CASES: readonly { what: string; bytes: Uint8Array; code: ErrorCode; says: RegExp }[] = [
  { what: 'an empty file', bytes: new Uint8Array(), code: 'GGUF_TRUNCATED', says: /the magic at 0 needs 4/ },
  { what: 'another format', bytes: preamble('PK\u0003\u0004', 3), code: 'GGUF_MAGIC', says: /50 4b 03 04/ },
  { what: 'version 1', bytes: preamble('GGUF', 1), code: 'GGUF_VERSION', says: /version 1, expected 2 or 3/ },
  { what: 'version 4', bytes: preamble('GGUF', 4), code: 'GGUF_VERSION', says: /version 4/ },
  {
    what: 'a big-endian file',
    bytes: preamble('GGUF', 0x03000000),
    code: 'GGUF_BIG_ENDIAN',
    says: /big-endian GGUF file of version 3/,
  },
  {
    what: 'more tensors than bytes',
    bytes: header({ tensors: 10 ** 9 }, zeros(99)),
    code: 'GGUF_INVALID',
    says: /tensor count: found 1000000000, expected at most 4/,
  },
  {
    what: 'more metadata than bytes',
    bytes: header({ pairs: 10 ** 9 }, zeros(99)),
    code: 'GGUF_INVALID',
    says: /metadata count: found 1000000000, expected at most 7/,
  },
  {
    what: 'a count beyond 2^53',
    bytes: header({ pairs: 2n ** 63n }),
    code: 'GGUF_INVALID',
    says: /found 9223372036854775808, expected less than 2\^53/,
  },
  {
    what: 'a key longer than any',
    bytes: header({ pairs: 1 }, u64(10 ** 7), zeros(99)),
    code: 'GGUF_INVALID',
    says: /length of a metadata key: found 10000000/,
  },
  {
    what: 'an empty key',
    bytes: header({ pairs: 1 }, pair('', U8, zeros(1))),
    code: 'GGUF_INVALID',
    says: /length of a metadata key: found 0/,
  },
  {
    what: 'a key that is not UTF-8',
    bytes: header({ pairs: 1 }, pair(BAD_UTF8, U8, zeros(1))),
    code: 'GGUF_INVALID',
    says: /metadata key: .*not UTF-8/,
  },
  {
    what: 'a key twice',
    bytes: header({ pairs: 2 }, pair('k', U8, zeros(1)), pair('k', U8, zeros(1))),
    code: 'GGUF_DUPLICATE',
    says: /metadata key "k" occurs twice/,
  },
  {
    what: 'an unknown value type',
    bytes: header({ pairs: 1 }, pair('k', 13, zeros(99))),
    code: 'GGUF_INVALID',
    says: /value type of "k": found 13, expected 0 to 12/,
  },
  {
    what: 'a string longer than the file',
    bytes: header({ pairs: 1 }, pair('k', STRING, u64(10 ** 12)), zeros(99)),
    code: 'GGUF_TRUNCATED',
    says: /k at .* needs 1000000000000 bytes/,
  },
  {
    what: 'a boolean of 2',
    bytes: header(
      { pairs: 1 },
      pair('k', 7, (out) => out.raw(Uint8Array.of(2))),
    ),
    code: 'GGUF_INVALID',
    says: /boolean "k": found 2/,
  },
  {
    what: 'an array longer than the file',
    bytes: header({ pairs: 1 }, pair('k', ARRAY, array(U32, 10 ** 9)), zeros(99)),
    code: 'GGUF_INVALID',
    says: /length of array "k": found 1000000000, expected at most 24/,
  },
  {
    what: 'an array of strings longer than the file',
    bytes: header({ pairs: 1 }, pair('k', ARRAY, array(STRING, 10 ** 9)), zeros(99)),
    code: 'GGUF_INVALID',
    says: /length of array "k"/,
  },
  {
    what: 'a string in an array longer than the file',
    bytes: header(
      { pairs: 1 },
      pair('k', ARRAY, array(STRING, 2, u64(1), zeros(1), u64(10 ** 6))),
      zeros(99),
    ),
    code: 'GGUF_TRUNCATED',
    says: /needs 1000000 bytes/,
  },
  {
    what: 'arrays nested without end',
    bytes: header({ pairs: 1 }, pair('k', ARRAY, nestedArrays(100))),
    code: 'GGUF_INVALID',
    says: /nesting of array "k": found 9 levels/,
  },
  {
    what: 'an alignment of 48',
    bytes: header(
      { pairs: 1 },
      pair('general.alignment', U32, (out) => out.u32(48)),
    ),
    code: 'GGUF_INVALID',
    says: /general\.alignment: found 48, expected a power of two/,
  },
  {
    what: 'an alignment of 0',
    bytes: header(
      { pairs: 1 },
      pair('general.alignment', U32, (out) => out.u32(0)),
    ),
    code: 'GGUF_INVALID',
    says: /general\.alignment: found 0/,
  },
  {
    what: 'an alignment that is text',
    bytes: header(
      { pairs: 1 },
      pair('general.alignment', STRING, (out) => out.text('32')),
    ),
    code: 'GGUF_METADATA_TYPE',
    says: /"general.alignment" is string, expected a number/,
  },
  {
    what: 'an unknown tensor format',
    bytes: header({ tensors: 1 }, tensor({ type: 4 }), zeros(4096)),
    code: 'GGUF_TENSOR_TYPE',
    says: /tensor "w" has ggml type 4, expected one of F32 \(0\)/,
  },
  {
    what: 'five dimensions',
    bytes: header({ tensors: 1 }, tensor({ shape: [32, 1, 1, 1, 1] }), zeros(4096)),
    code: 'GGUF_INVALID',
    says: /dimension count of tensor "w": found 5/,
  },
  {
    what: 'a tensor without elements past the end',
    bytes: header({ tensors: 1 }, tensor({ shape: [32, 0], offset: 8192 }), zeros(4096)),
    code: 'GGUF_TENSOR_BOUNDS',
    says: /"w" has 0 bytes at \d+, but the file ends at/,
  },
  {
    what: 'dimensions whose product overflows',
    bytes: header({ tensors: 1 }, tensor({ shape: [2 ** 40, 2 ** 40] }), zeros(4096)),
    code: 'GGUF_INVALID',
    says: /shape of tensor "w"/,
  },
  {
    what: 'a row that is no whole number of blocks',
    bytes: header({ tensors: 1 }, tensor({ shape: [48] }), zeros(4096)),
    code: 'GGUF_INVALID',
    says: /first dimension of tensor "w": found 48, expected a multiple of 32/,
  },
  {
    what: 'a tensor off its alignment',
    bytes: header({ tensors: 1 }, tensor({ offset: 8 }), zeros(4096)),
    code: 'GGUF_INVALID',
    says: /offset of tensor "w": found 8, expected a multiple of 32/,
  },
  {
    what: 'a tensor past the end',
    bytes: header({ tensors: 1 }, tensor({ type: F32, shape: [1024, 2] }), zeros(4096)),
    code: 'GGUF_TENSOR_BOUNDS',
    says: /"w" has 8192 bytes at \d+, but the file ends at/,
  },
  {
    what: 'an offset past the end',
    bytes: header({ tensors: 1 }, tensor({ offset: 2 ** 40 }), zeros(4096)),
    code: 'GGUF_TENSOR_BOUNDS',
    says: /"w" has 34 bytes/,
  },
  {
    what: 'tensors that overlap',
    bytes: twoTensors({ offset: 64 }),
    code: 'GGUF_TENSOR_OVERLAP',
    says: /"b" starts at \d+, inside "a"/,
  },
  {
    what: 'a tensor twice',
    bytes: twoTensors({ name: 'a', offset: 128 }),
    code: 'GGUF_DUPLICATE',
    says: /tensor "a" occurs twice/,
  },
  {
    what: 'a tensor name that is not UTF-8',
    bytes: twoTensors({ name: BAD_UTF8, offset: 128 }),
    code: 'GGUF_INVALID',
    says: /tensor name: .*not UTF-8/,
  },
];

for (const { what, bytes, code, says } of CASES) {
  test(`${what} is ${code}`, async () => {
    const source = new CountingSource(bytes, 'bad.gguf');
    await assert.rejects(GgufFile.open(source), (error: Error & { code?: string; fix?: string }) => {
      assert.equal(error.code, code, error.message);
      assert.match(error.message, says);
      assert.match(error.message, /^bad\.gguf/);
      assert.ok(error.fix);
      return true;
    });
    assert.equal(source.disposals, 1, 'the source was left open');
  });
}

test('a value that is not UTF-8 is readable as bytes', async () => {
  const bytes = header(
    { pairs: 1 },
    pair('k', STRING, (out) => out.text(BAD_UTF8)),
  );
  await using file = await GgufFile.open(new MemorySource(bytes));
  assert.equal(file.metadata.string('k'), 'a\ufffdb');
  assert.deepEqual(file.metadata.encoded('k')?.payload.subarray(8), BAD_UTF8);
});

test('a header longer than allowed is refused before it is read', async () => {
  const value = new Uint8Array(3 << 20);
  const bytes = header(
    { pairs: 1 },
    pair('k', STRING, (out) => out.text(value)),
  );
  const source = new CountingSource(bytes);
  await assert.rejects(GgufFile.open(source, { maxHeaderBytes: 1 << 20 }), { code: 'GGUF_HEADER_TOO_LARGE' });
  assert.ok(source.bytesRead <= 1 << 20);
});

test('opening reads the header in few reads, each byte once, and no tensor data', async () => {
  const sink = new MemorySink();
  const shape = [1 << 20, 4];
  const writer = await GgufWriter.begin(sink, {
    metadata: [['k', { type: 'array', element: 'f32', values: new Float32Array(100_000) }]],
    tensors: [{ name: 'w', format: format('F32'), shape }],
  });
  await writer.write(new Uint8Array(16 << 20));
  const source = new CountingSource(sink.bytes());
  await using file = await GgufFile.open(source);
  assert.equal(file.tensors.length, 1);
  assert.ok(source.reads < 8 && source.bytesRead < 3 * writer.layout.header.byteLength);
});

test('an abort before or while opening is ABORTED, and the source is disposed', async () => {
  const bytes = header({ pairs: 1 }, pair('k', U8, zeros(1)));
  const source = new CountingSource(bytes);
  await assert.rejects(GgufFile.open(source, { signal: AbortSignal.abort() }), { code: 'ABORTED' });
  assert.equal(source.disposals, 1);
});
