import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { loadModel } from '../../../src/node/load-model.ts';
import { ModelServer } from '../../../src/server/index.ts';
import { fixture } from '../../support/fixture.ts';
import { pythonWith } from '../../support/python.ts';
import { bundledSource, listen, tinySource } from '../../support/test-server.ts';

const python = pythonWith('openai');
const skip = python === undefined && 'needs a Python with the package openai (ROCMFORGE_TEST_PYTHON)';

test('OpenAI’s package for Python gets what it expects of each method', { skip }, async (t) => {
  const bert = {
    id: 'bert',
    created: 1_700_000_000,
    open: () => loadModel(fixture('families/bert.gguf'), { device: 'cpu', threads: 1 }),
  };
  const keys = ['sk-ann', 'sk-ben'];
  const models = [tinySource('tiny', { sequences: 2 }), bert, bundledSource({ sequences: 2, context: 1024 })];
  const server = new ModelServer({ models, parallel: 2, maxModels: 3, keys });
  t.after(() => server[Symbol.asyncDispose]());
  const url = await listen(t, server);
  const client = spawn(python ?? '', [fixture('clients/openai_methods.py'), url, ...keys]);
  let out = '';
  for (const stream of [client.stdout, client.stderr]) stream.on('data', (text) => (out += String(text)));
  const [code] = (await once(client, 'close')) as [number];
  assert.deepEqual([code, out], [0, 'every method answers\n']);
});
