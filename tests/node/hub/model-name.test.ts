import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isBareName, isModelName, modelNameText, parseModelName } from '../../../src/node/hub/model-name.ts';

const ENDPOINT = 'https://huggingface.co';
const parse = (text: string) => parseModelName(text, ENDPOINT);
const hub = (more: object = {}) => ({ kind: 'hub', repo: 'user/repo-GGUF', revision: 'main', ...more });

test('a model of the hub is named in all the ways that people write it', () => {
  const file = { file: 'sub/model-Q8_0.gguf' };
  const cases: [text: string, name: object][] = [
    ['hf:user/repo-GGUF', hub()],
    ['user/repo-GGUF', hub()],
    ['user/repo-GGUF:Q4_K_M', hub({ quantization: 'Q4_K_M' })],
    ['hf:user/repo-GGUF:q4_k_m', hub({ quantization: 'q4_k_m' })],
    ['hf.co/user/repo-GGUF:latest', hub()],
    ['huggingface.co/user/repo-GGUF:IQ4_XS', hub({ quantization: 'IQ4_XS' })],
    ['hf:user/repo-GGUF@v1:Q8_0', hub({ revision: 'v1', quantization: 'Q8_0' })],
    ['hf:user/repo-GGUF:sub/model-Q8_0.gguf', hub(file)],
    ['hf:user/repo-GGUF/sub/model-Q8_0.gguf', hub(file)],
    ['https://huggingface.co/user/repo-GGUF', hub()],
    ['https://huggingface.co/user/repo-GGUF/tree/main', hub()],
    ['https://huggingface.co/user/repo-GGUF/blob/main/sub/model-Q8_0.gguf', hub(file)],
    ['https://hf.co/user/repo-GGUF/resolve/main/sub/model-Q8_0.gguf?download=true', hub(file)],
    ['https://huggingface.co/user/repo-GGUF/blob/abc/a%20b.gguf', hub({ revision: 'abc', file: 'a b.gguf' })],
  ];
  for (const [text, name] of cases) assert.deepEqual(parse(text), name, text);
  const mirror = parseModelName('https://mirror.example/user/repo-GGUF', 'https://mirror.example');
  assert.deepEqual(mirror, hub());
});

test('models of a registry and files at addresses', () => {
  const ollama = { kind: 'ollama', registry: 'https://registry.ollama.ai' };
  assert.deepEqual(parse('ollama:llama3.2'), { ...ollama, repo: 'library/llama3.2', tag: 'latest' });
  assert.deepEqual(parse('ollama:me/tiny:1b'), { ...ollama, repo: 'me/tiny', tag: '1b' });
  const own = { kind: 'ollama', repo: 'me/tiny', tag: '1b' };
  assert.deepEqual(parse('ollama:my.host:5000/me/tiny:1b'), { ...own, registry: 'https://my.host:5000' });
  assert.deepEqual(parse('ollama:http://localhost:5000/me/tiny:1b'), {
    ...own,
    registry: 'http://localhost:5000',
  });
  assert.deepEqual(parse('https://example.org/a.gguf?x=1#y'), {
    kind: 'url',
    url: 'https://example.org/a.gguf?x=1',
  });
});

test('a name is written as it is read', () => {
  for (const text of [
    'hf:user/repo',
    'hf:user/repo@v2:Q4_0',
    'hf:user/repo:dir/x.gguf',
    'ollama:tiny:latest',
    'ollama:me/tiny:1b',
    'ollama:http://localhost:5000/library/tiny:latest',
    'https://example.org/x.gguf',
  ]) {
    assert.equal(modelNameText(parse(text)), text);
  }
});

test('what names no model, or a file outside its repository, is refused', () => {
  for (const text of [
    'hf:',
    'hf:user',
    'hf:user/repo/extra',
    'hf:../repo',
    'hf:user/..',
    'hf:us--er/repo',
    'hf:user/repo:../../x.gguf',
    'hf:user/repo/a/../../b.gguf',
    'hf:user/repo@../x',
    'hf:datasets/repo',
    'https://huggingface.co/user/repo/blob/main/config.json',
    'https://huggingface.co/user/repo/blob/main/a%2f..%2f..%2fx.gguf',
    'https://huggingface.co/%zz/repo',
    'ollama:a/b/c',
    'ollama:tiny:a/b',
    'model',
    './model.gguf',
  ]) {
    assert.throws(() => parse(text), { code: 'MODEL_NAME_INVALID' }, text);
  }
});

test('paths are not taken for names', () => {
  for (const text of ['model.gguf', 'models/x.gguf', './a/b', '/a/b', 'a/b/c', 'C:/x', 'a/b:c:d']) {
    assert.equal(isBareName(text) || isModelName(text), false, text);
  }
  assert.ok(isBareName('user/repo') && isBareName('user/repo:Q4_0'));
  const page = 'https://huggingface.co/user/repo/blob/main/x.gguf';
  assert.ok(isModelName(page) && !isModelName(page.replace('blob', 'resolve')));
  assert.ok(isModelName('hf:user/repo') && isModelName('ollama:x') && isModelName('hf.co/user/repo'));
});
