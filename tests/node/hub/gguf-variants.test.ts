import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  namedVariant,
  preferredVariant,
  quantizationOf,
  variantsOf,
  whyNoModel,
} from '../../../src/node/hub/gguf-variants.ts';

test('quantizations are read from the names that files have', () => {
  const cases: Record<string, string> = {
    'Llama-3.2-1B-Instruct-Q4_K_M.gguf': 'Q4_K_M',
    'qwen2.5-0.5b-instruct-q8_0.gguf': 'Q8_0',
    'model.Q3_K.gguf': 'Q3_K',
    'model.IQ2_XXS.gguf': 'IQ2_XXS',
    'gemma-3-4b-it-UD-Q4_K_XL.gguf': 'UD-Q4_K_XL',
    'UD-IQ1_S/model-UD-IQ1_S-00001-of-00003.gguf': 'UD-IQ1_S',
    'gpt-oss-20b-MXFP4.gguf': 'MXFP4',
    'model-BF16.gguf': 'BF16',
    'model-f16.gguf': 'F16',
    'model-fp16.gguf': 'FP16',
    'Q8_0/model-00001-of-00002.gguf': 'Q8_0',
    'model-Q4_0_4_4.gguf': 'Q4_0_4_4',
    'model-TQ1_0.gguf': 'TQ1_0',
    'plain.gguf': 'plain',
    'qq4_kx.gguf': 'qq4_kx',
  };
  for (const [path, name] of Object.entries(cases)) assert.equal(quantizationOf(path), name, path);
});

const files = (...paths: string[]) => paths.map((path, i) => ({ path, size: 10 * (i + 1) }));

test('split files count once, projectors and statistics are no models, a part that lacks makes none', () => {
  const { models, projectors } = variantsOf([
    ...files('m-Q8_0-00002-of-00002.gguf', 'm-Q8_0-00001-of-00002.gguf', 'm-Q4_0.gguf', 'mmproj-m-F16.gguf'),
    ...files('m-imatrix.gguf', 'm-F16-00001-of-00003.gguf', 'm-F16-00003-of-00003.gguf', 'README.md'),
  ]);
  assert.deepEqual(
    models.map(({ quantization, bytes, files: parts }) => [
      quantization,
      bytes,
      parts.map(({ path }) => path),
    ]),
    [
      ['Q8_0', 30, ['m-Q8_0-00001-of-00002.gguf', 'm-Q8_0-00002-of-00002.gguf']],
      ['Q4_0', 30, ['m-Q4_0.gguf']],
    ],
  );
  assert.deepEqual(
    projectors.map(({ path }) => path),
    ['mmproj-m-F16.gguf'],
  );
});

test('why a repository has no model is said', () => {
  assert.match(whyNoModel(['m-Q8_0-00001-of-00003.gguf']), /parts of its split models are missing/);
  assert.match(whyNoModel(['m.Q4_K_M.gguf.part1of2', 'm.Q4_K_M.gguf.part2of2']), /join them with cat/);
  assert.match(whyNoModel(['m.Q6_K.gguf-split-a']), /join them with cat/);
  assert.match(whyNoModel(['model.safetensors']), /-GGUF, or download it and use rocmforge convert/);
  assert.equal(whyNoModel(['README.md']), 'there is no GGUF file in this repository');
});

test('the usual quantization is taken, or the nearest to it', () => {
  const pick = (...paths: string[]) => preferredVariant(variantsOf(files(...paths)).models)?.quantization;
  assert.equal(pick('m-Q2_K.gguf', 'm-Q4_K_M.gguf', 'm-Q8_0.gguf'), 'Q4_K_M');
  assert.equal(pick('m-Q2_K.gguf', 'm-Q8_0.gguf', 'm-Q5_K_M.gguf'), 'Q5_K_M');
  assert.equal(pick('m-F32.gguf', 'm-BF16.gguf'), 'F32');
  assert.equal(pick(), undefined);
});

test('a quantization that there is not, or that several files have, is refused with those there are', () => {
  const { models } = variantsOf(files('a-Q4_K_M.gguf', 'a-Q4_K_S.gguf', 'b-Q8_0.gguf', 'c-Q8_0.gguf'));
  const named = (quantization?: string, file?: string) =>
    namedVariant(models, { model: 'hf:u/r', quantization, file }).files[0]?.path;
  assert.equal(named('q4_k_m'), 'a-Q4_K_M.gguf');
  assert.equal(named(undefined, 'b-Q8_0.gguf'), 'b-Q8_0.gguf');
  assert.throws(() => named('Q5_0'), {
    code: 'HUB_NOT_FOUND',
    message: /no Q5_0; there is Q4_K_M, Q4_K_S, Q8_0, Q8_0/,
  });
  assert.throws(() => named('Q8_0'), {
    code: 'HUB_NOT_FOUND',
    message: /several; there is b-Q8_0\.gguf, c-Q8_0\.gguf/,
  });
  assert.throws(() => named('Q4_K'), { code: 'HUB_NOT_FOUND', message: /several/ });
  assert.throws(() => named(undefined, 'x.gguf'), { code: 'HUB_NOT_FOUND' });
});
