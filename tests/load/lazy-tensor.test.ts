import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { GgufFile } from '../../src/gguf/index.ts';
import { AsyncModelLoader } from '../../src/load/async-model-loader.ts';
import { WatchedSource } from '../support/watched-source.ts';
import { tinyBytes } from '../support/tiny-model.ts';
import { arrived, expected, placedTensor } from '../support/placed-tensors.ts';

async function setUp() {
  const source = new WatchedSource(await tinyBytes());
  const gguf = await GgufFile.open(source);
  const device = openReferenceDevice();
  const loader = new AsyncModelLoader(device, { slotBytes: 4096, slots: 4 });
  const tensorFor = (name: string) => {
    const found = gguf.tensors.find((tensor) => tensor.name === name);
    assert.ok(found);
    const tensor = placedTensor(found, device);
    tensor.loadBy(loader);
    return tensor;
  };
  source.reads = 0;
  const dispose = async () => {
    await loader[Symbol.asyncDispose]();
    await device[Symbol.asyncDispose]();
    await gguf.dispose();
  };
  return { source, device, loader, tensorFor, [Symbol.asyncDispose]: dispose };
}

test('one load serves all who ask, and a hit asks for nothing', async () => {
  await using on = await setUp();
  const tensor = on.tensorFor('blk.1.ffn_up.weight');
  assert.equal(tensor.state, 'unloaded');
  const asked = Array.from({ length: 20 }, (_, i) => (i % 2 ? tensor.ready() : tensor.queued()));
  assert.equal(tensor.state, 'loading');
  await Promise.all(asked);
  await tensor.ready();
  assert.equal(tensor.state, 'resident');
  const { reads } = on.source;
  assert.equal(reads, Math.ceil(tensor.byteLength / 4096));
  assert.deepEqual(await tensor.queued(), []);
  assert.equal(on.source.reads, reads);
  assert.deepEqual(await arrived(on.device, tensor), await expected(tensor));
});

test('a failure reaches everybody who waits, and the next to ask tries again', async () => {
  await using on = await setUp();
  const tensor = on.tensorFor('blk.0.attn_q.weight');
  on.source.failFrom = 2;
  const waiting = Array.from({ length: 20 }, (_, i) => (i % 2 ? tensor.ready() : tensor.queued()));
  const results = await Promise.allSettled(waiting);
  for (const result of results) {
    assert.ok(result.status === 'rejected' && isRocmforgeError(result.reason, 'READ_FAILED'));
  }
  assert.equal(tensor.state, 'unloaded');
  on.source.failFrom = undefined;
  await tensor.ready();
  assert.deepEqual(await arrived(on.device, tensor), await expected(tensor));
});

test('an evicted tensor is loaded again, also when it was still on its way', async () => {
  await using on = await setUp();
  const tensor = on.tensorFor('output_norm.weight');
  await tensor.ready();
  tensor.evict();
  assert.equal(tensor.state, 'evicted');
  on.source.reads = 0;
  await tensor.queued();
  tensor.evict();
  await tensor.ready();
  assert.equal(tensor.state, 'resident');
  assert.equal(on.source.reads, 2);
});

test('disposing the loader fails what waits', async () => {
  await using on = await setUp();
  const tensors = ['token_embd.weight', 'blk.2.ffn_down.weight'].map(on.tensorFor);
  const waiting = tensors.map((tensor) => tensor.ready());
  const settled = Promise.allSettled(waiting);
  await on.loader[Symbol.asyncDispose]();
  const results = await settled;
  assert.ok(
    results.some((result) => result.status === 'rejected' && isRocmforgeError(result.reason, 'DISPOSED')),
  );
});
