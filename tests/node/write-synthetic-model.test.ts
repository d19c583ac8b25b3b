import assert from 'node:assert/strict';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { ALL_FORMATS, F16, F32, Q4_0, Q4_K, type TensorFormat } from '../../src/formats/index.ts';
import { loadTensorFloats, type PlannedTensor } from '../../src/gguf/index.ts';
import { loadModel } from '../../src/index.ts';
import { SYNTHETIC_SHAPES, syntheticShape } from '../../src/model/synthetic/shapes.ts';
import { MIN_VOCABULARY, syntheticVocabulary } from '../../src/model/synthetic/vocabulary.ts';
import { FileSource, openGguf } from '../../src/node/index.ts';
import { type SyntheticModelRequest, writeSyntheticModel } from '../../src/node/write-synthetic-model.ts';
import { mixNamed } from '../../src/quantize/mixes.ts';
import { planQuantize } from '../../src/quantize/quantize-plan.ts';
import { FAMILY_FIXTURES, familyPaths } from '../support/family-fixtures.ts';
import { temporaryFolder } from '../support/temporary.ts';

function tiny(path: string, changed: Partial<SyntheticModelRequest> = {}): SyntheticModelRequest {
  return { path, name: 'llama-tiny', shape: syntheticShape('llama-tiny'), format: Q4_0, seed: 1, ...changed };
}

function deviationOf(values: Float32Array): number {
  return Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);
}

test('a seed makes the file, another seed another one', async (t) => {
  const folder = temporaryFolder(t);
  const paths = ['a', 'b', 'c'].map((name) => join(folder, name));
  const [a = '', b = '', c = ''] = paths;
  const length = await writeSyntheticModel(tiny(a));
  await writeSyntheticModel(tiny(b));
  await writeSyntheticModel(tiny(c, { seed: 2 }));
  assert.equal(statSync(a).size, length);
  assert.ok(readFileSync(a).equals(readFileSync(b)));
  assert.ok(!readFileSync(a).equals(readFileSync(c)));
});

test('weights have the deviation that keeps products their size', async (t) => {
  const path = join(temporaryFolder(t), 'tiny.gguf');
  await writeSyntheticModel(tiny(path, { format: Q4_K, outputFormat: F32 }));
  await using file = await openGguf(path);
  for (const tensor of file.tensors) {
    const [columns = 1] = tensor.shape;
    const wanted = tensor.shape.length === 1 ? 1 : 1 / Math.sqrt(columns);
    const ratio = deviationOf(await loadTensorFloats(tensor)) / wanted;
    assert.ok(Math.abs(ratio - 1) < 0.1, `${tensor.name}: ${ratio}`);
  }
  assert.equal(file.requireTensor('output.weight').format, F32);
  assert.equal(file.requireTensor('blk.1.ffn_down.weight').format, Q4_K);
});

test('a mix gives every tensor the format that quantizing gives it', async (t) => {
  const folder = temporaryFolder(t);
  const [half, made] = [join(folder, 'half.gguf'), join(folder, 'made.gguf')];
  const shape = syntheticShape('tiny', { layers: 8, width: 256, hidden: 512 });
  await writeSyntheticModel(tiny(half, { shape, format: F16 }));
  await using source = await openGguf(half);
  for (const name of ['Q4_K_M', 'Q3_K_L', 'Q8_0']) {
    const mix = mixNamed(name);
    assert.ok(mix);
    await writeSyntheticModel(tiny(made, { shape, format: F16, mix }));
    await using file = await openGguf(made);
    const expected = planQuantize(source, { mix }).plan;
    const placed = ({ name, format, shape }: PlannedTensor) => ({ name, format, shape });
    assert.deepEqual(file.tensors.map(placed), expected.tensors.map(placed));
    assert.equal(file.metadata.get('general.file_type'), mix.fileType);
  }
});

test('heads are as wide as the shape says, whatever the width', async (t) => {
  const path = join(temporaryFolder(t), 'tiny.gguf');
  const sizes = { architecture: 'gpt-oss', width: 36, heads: 8, kvHeads: 2 };
  assert.throws(() => syntheticShape('tiny', sizes), { code: 'INVALID_ARGUMENT' });
  const shape = syntheticShape('tiny', { ...sizes, headSize: 16 });
  await writeSyntheticModel(tiny(path, { shape, format: F32 }));
  await using file = await openGguf(path);
  assert.deepEqual(file.requireTensor('blk.0.attn_q.weight').shape, [36, 128]);
  assert.deepEqual(file.requireTensor('blk.0.attn_v.weight').shape, [36, 32]);
});

test('every floating-point format makes a model that runs', async (t) => {
  const path = join(temporaryFolder(t), 'tiny.gguf');
  const shape = syntheticShape('llama-tiny', { layers: 1, hidden: 256, vocabulary: MIN_VOCABULARY });
  const formats: readonly TensorFormat[] = ALL_FORMATS.filter(({ name }) => !/^I\d+$/.test(name));
  for (const format of formats) {
    await writeSyntheticModel(tiny(path, { shape, format }));
    await using model = await loadModel(path, { device: 'reference', context: 8 });
    let largest = 0;
    for await (const { logits } of model.evaluate([1, 300, 301])) {
      assert.ok(logits.every(Number.isFinite), format.name);
      largest = logits.reduce((most, logit) => Math.max(most, Math.abs(logit)), largest);
    }
    assert.ok(largest > 0.5 && largest < 20, `${format.name}: the largest logit is ${largest}`);
  }
});

test('rows that are no whole blocks take a smaller format', async (t) => {
  const path = join(temporaryFolder(t), 'tiny.gguf');
  const shape = syntheticShape('llama-tiny', { width: 64, heads: 2, kvHeads: 1, hidden: 264 });
  await writeSyntheticModel(tiny(path, { shape, format: Q4_K }));
  await using file = await openGguf(path);
  assert.equal(file.requireTensor('blk.0.attn_q.weight').format.name, 'Q8_0');
  assert.equal(file.requireTensor('blk.0.ffn_down.weight').format.name, 'F16');
});

test("the families' models are what is written for their architecture and seed", async (t) => {
  const path = join(temporaryFolder(t), 'tiny.gguf');
  for (const family of FAMILY_FIXTURES) {
    const shape = syntheticShape('tiny', {
      architecture: family.architecture ?? family.name,
      ...family.sizes,
    });
    await writeSyntheticModel({ path, name: 'tiny', shape, family: family.family, format: F32, seed: 1 });
    assert.ok(readFileSync(path).equals(readFileSync(familyPaths(family).model)), family.name);
  }
});

test('an architecture that nothing is made up of is refused', async (t) => {
  const path = join(temporaryFolder(t), 'tiny.gguf');
  const shape = syntheticShape('tiny', { architecture: 'toString' });
  const writing = writeSyntheticModel({ path, name: 'tiny', shape, format: F32, seed: 1 });
  await assert.rejects(writing, (error) => isRocmforgeError(error, 'INVALID_ARGUMENT'));
});

test('nothing is left of a file that was aborted, and what stood in its place stays', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'tiny.gguf');
  const aborted = async () => {
    const controller = new AbortController();
    const writing = writeSyntheticModel(
      tiny(path, { signal: controller.signal, onProgress: () => controller.abort() }),
    );
    await assert.rejects(writing, (error) => isRocmforgeError(error, 'ABORTED'));
  };
  await aborted();
  assert.deepEqual(readdirSync(folder), []);
  writeFileSync(path, 'before');
  await aborted();
  assert.equal(readFileSync(path, 'utf8'), 'before');
  assert.deepEqual(readdirSync(folder), ['tiny.gguf']);
});

test('a file is replaced under nobody who has it open, and links lead to the new one', async (t) => {
  const folder = temporaryFolder(t);
  const [path, link] = [join(folder, 'tiny.gguf'), join(folder, 'link.gguf')];
  await writeSyntheticModel(tiny(path));
  const before = readFileSync(path);
  symlinkSync(path, link);
  await using open = await FileSource.open(path);
  await writeSyntheticModel(tiny(link, { seed: 2 }));
  const read = new Uint8Array(open.size);
  await open.read(0, read);
  assert.ok(before.equals(read));
  assert.ok(!before.equals(readFileSync(path)));
  assert.ok(lstatSync(link).isSymbolicLink());
});

test('two that write one file do not mix, and a file beside it stays what it was', async (t) => {
  const folder = temporaryFolder(t);
  const [path, beside] = [join(folder, 'tiny.gguf'), join(folder, 'tiny.gguf.part')];
  const alone = await Promise.all(
    [1, 2].map(async (seed) => {
      const other = join(folder, `${seed}`);
      await writeSyntheticModel(tiny(other, { seed }));
      return readFileSync(other);
    }),
  );
  writeFileSync(beside, 'mine');
  await Promise.all([1, 2].map((seed) => writeSyntheticModel(tiny(path, { seed }))));
  const written = readFileSync(path);
  assert.ok(alone.some((bytes) => bytes.equals(written)));
  assert.equal(readFileSync(beside, 'utf8'), 'mine');
  assert.deepEqual(readdirSync(folder).sort(), ['1', '2', 'tiny.gguf', 'tiny.gguf.part']);
});

test('links that lead to nothing yet stay, and lead to the file then; links in a circle are refused', async (t) => {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'models'));
  symlinkSync(join('models', 'second'), join(folder, 'first'));
  symlinkSync('tiny.gguf', join(folder, 'models', 'second'));
  const length = await writeSyntheticModel(tiny(join(folder, 'first')));
  assert.equal(readlinkSync(join(folder, 'first')), join('models', 'second'));
  assert.equal(readlinkSync(join(folder, 'models', 'second')), 'tiny.gguf');
  assert.equal(lstatSync(join(folder, 'models', 'tiny.gguf')).size, length);
  symlinkSync('circle', join(folder, 'circle'));
  const writing = writeSyntheticModel(tiny(join(folder, 'circle')));
  await assert.rejects(writing, (error) => isRocmforgeError(error, 'WRITE_FAILED'));
  assert.deepEqual(readdirSync(folder).sort(), ['circle', 'first', 'models']);
});

test('what is no file is written to and left alone', { skip: !existsSync('/dev/full') }, async () => {
  const writing = writeSyntheticModel(tiny('/dev/full'));
  await assert.rejects(writing, (error) => isRocmforgeError(error, 'WRITE_FAILED'));
  assert.ok(lstatSync('/dev/full').isCharacterDevice());
});

test('the made-up vocabulary encodes any text and gives it back', async (t) => {
  const path = join(temporaryFolder(t), 'tiny.gguf');
  const shape = syntheticShape('llama-tiny', {
    vocabulary: 32_000,
    width: 64,
    heads: 2,
    kvHeads: 1,
    hidden: 64,
  });
  await writeSyntheticModel(tiny(path, { shape }));
  await using model = await loadModel(path, { device: 'null', context: 8 });
  const { tokenizer } = model;
  for (const text of ['Hello, world 42!', ' banana  tile', 'é 中文 🙂\n']) {
    assert.equal(tokenizer.decode(tokenizer.encode(text)), text);
  }
  assert.equal(tokenizer.encode(' banana', { addSpecial: false }).length, 3);
});

test('vocabularies of the known shapes have as many different pieces as they say', () => {
  for (const { vocabulary } of Object.values(SYNTHETIC_SHAPES)) {
    if (vocabulary < MIN_VOCABULARY) continue;
    const { pieces, scores, types } = syntheticVocabulary(vocabulary);
    assert.equal(new Set(pieces).size, vocabulary);
    assert.deepEqual([scores.length, types.length], [vocabulary, vocabulary]);
  }
});

test('shapes that cannot be are refused', () => {
  const refused = (run: () => unknown) =>
    assert.throws(run, (error: unknown) => isRocmforgeError(error, 'INVALID_ARGUMENT'));
  refused(() => syntheticShape('llama-9'));
  refused(() => syntheticShape('toString'));
  refused(() => syntheticShape('llama-tiny', { width: 100 }));
  refused(() => syntheticShape('llama-tiny', { kvHeads: 3 }));
  refused(() => syntheticShape('llama-tiny', { layers: 0 }));
  refused(() => syntheticVocabulary(MIN_VOCABULARY - 1));
});
