import assert from 'node:assert/strict';
import { File } from 'node:buffer';
import { test } from 'node:test';
import { httpOrigin } from '../../src/browser/store/http-origin.ts';
import { fileOrigin } from '../../src/browser/store/origin.ts';

test('a file’s name is what people call it, whatever percent signs it has', () => {
  const named = (name: string) => fileOrigin(new File([], name) as globalThis.File).fileName;
  assert.equal(named('100% tiny.gguf'), '100% tiny.gguf');
  assert.equal(named('a%20b.gguf'), 'a%20b.gguf');
  const at = (path: string) => httpOrigin(`https://example.com/${path}`).fileName;
  assert.equal(at('models/a%20b.gguf?download=true'), 'a b.gguf');
  assert.equal(at('100%.gguf'), '100%.gguf');
  assert.equal(at('models/'), 'https://example.com/models/');
});
