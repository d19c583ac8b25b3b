import assert from 'node:assert/strict';
import { test } from 'node:test';
import { modelName } from '../../src/node/model-files.ts';

test('a model is called as its file, wherever that lies', () => {
  const names: Readonly<Record<string, string>> = {
    'a/small.gguf': 'small',
    'c#/what?/large-00001-of-00003.gguf': 'large',
    'a#1.gguf': 'a#1',
    'https://example.com/files/small.gguf?download=1#top': 'small',
    'no-extension': 'no-extension',
  };
  for (const [location, name] of Object.entries(names)) assert.equal(modelName(location), name);
});
