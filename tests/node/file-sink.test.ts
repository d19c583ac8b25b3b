import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { GgufWriter, loadTensorBytes } from '../../src/gguf/index.ts';
import { FileSink, openGguf } from '../../src/node/index.ts';
import { dataOf, SMALL_PLAN } from '../support/gguf-files.ts';
import { openDescriptors } from '../support/open-handles.ts';
import { temporaryFolder } from '../support/temporary.ts';

test('a model written to disk opens again', async (t) => {
  const path = join(temporaryFolder(t), 'model.gguf');
  const sink = await FileSink.create(path);
  const writer = await GgufWriter.begin(sink, SMALL_PLAN);
  for (const tensor of writer.layout.tensors) {
    const data = dataOf(tensor);
    const middle = data.length >> 1;
    await writer.write(data.subarray(0, middle));
    await writer.write(data.subarray(middle));
  }
  writer.end();
  await sink.dispose();
  await sink.dispose();
  assert.equal(openDescriptors(path) ?? 0, 0);

  await using file = await openGguf(path);
  assert.equal(file.byteLength, writer.layout.byteLength);
  for (const tensor of file.tensors) {
    assert.deepEqual(new Uint8Array(await loadTensorBytes(tensor)), dataOf(tensor));
  }
});

test('a folder that is missing and a disk that is full are WRITE_FAILED', async (t) => {
  const missing = join(temporaryFolder(t), 'absent', 'model.gguf');
  await assert.rejects(FileSink.create(missing), { code: 'WRITE_FAILED' });
  if (!existsSync('/dev/full')) return t.diagnostic('no /dev/full here: the full disk was not tried');
  await using full = await FileSink.create('/dev/full');
  await assert.rejects(full.write(new Uint8Array(10)), { code: 'WRITE_FAILED' });
});
