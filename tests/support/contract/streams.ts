import assert from 'node:assert/strict';
import { wholeOf } from '../../../src/device/index.ts';
import { type ContractContext, contractTest } from './contract-context.ts';
import { contentsOf, pattern } from './memory.ts';
import { HUNG_MS, until } from '../hung.ts';

/** Order within and between streams, events, errors. */
export function testStreams(context: ContractContext): void {
  testOrder(context);
  testEvents(context);
  testErrors(context);
}

function testOrder(context: ContractContext): void {
  contractTest(context, 'streams order: work runs in the order of the calls', async () => {
    const device = context.device();
    using a = device.createBuffer(256, 'a');
    using b = device.createBuffer(256, 'b');
    await using stream = device.createStream('order');
    const images = [1, 2, 3].map((seed) => pattern(256, seed));
    const seen = images.map(() => new Uint8Array(256));
    const downloads = images.map((image, i) => {
      stream.upload(image, wholeOf(a));
      stream.copy(wholeOf(a), wholeOf(b));
      return stream.download(wholeOf(b), seen[i] as Uint8Array);
    });
    await Promise.all(downloads);
    assert.deepEqual(seen, images);
  });

  contractTest(context, 'streams order: a stream waits for the event of another', async () => {
    const device = context.device();
    using a = device.createBuffer(4096, 'a');
    using b = device.createBuffer(4096, 'b');
    await using producer = device.createStream('producer');
    await using consumer = device.createStream('consumer');
    for (let round = 0; round < 5; round++) {
      for (let i = 0; i <= round; i++) producer.upload(pattern(4096, i), wholeOf(a));
      consumer.wait(producer.record());
      consumer.copy(wholeOf(a), wholeOf(b));
      producer.wait(consumer.record());
    }
    await consumer.synchronize();
    assert.deepEqual(await contentsOf(device, wholeOf(b)), pattern(4096, 4));
  });
}

function testEvents(context: ContractContext): void {
  contractTest(context, 'streams events: complete in order and tell the time between them', async () => {
    const device = context.device();
    using buffer = device.createBuffer(65536, 'a');
    await using stream = device.createStream('events');
    const first = stream.record();
    stream.upload(pattern(65536), wholeOf(buffer));
    const second = stream.record();
    await second.completed();
    assert.equal(first.query(), true);
    assert.equal(second.query(), true);
    const elapsed = second.elapsedSince(first);
    assert.ok(elapsed >= 0 && elapsed < HUNG_MS, `elapsed ${elapsed} ms`);
    await first.completed();
  });

  contractTest(context, 'streams events: a stream with nothing to do is done', async () => {
    const device = context.device();
    await using stream = device.createStream('idle');
    await stream.synchronize();
    const event = stream.record();
    await event.completed();
    assert.equal(event.query(), true);
  });

  contractTest(context, 'streams events: polling sees the end', async () => {
    const device = context.device();
    using buffer = device.createBuffer(65536, 'a');
    await using stream = device.createStream('poll');
    stream.upload(pattern(65536), wholeOf(buffer));
    const event = stream.record();
    await until(
      () => 'the event does not complete',
      () => event.query(),
    );
    assert.deepEqual(await contentsOf(device, wholeOf(buffer)).then((bytes) => bytes.length), 65536);
  });
}

function testErrors(context: ContractContext): void {
  const { failQueuedWork } = context.options;
  if (!failQueuedWork) return;
  contractTest(
    context,
    'streams errors: a failure rejects what comes after it, again and again',
    async () => {
      const device = context.device();
      await using stream = device.createStream('errors');
      await using other = device.createStream('waits');
      const before = stream.record();
      failQueuedWork(device)(stream);
      const after = stream.record();
      other.wait(after);
      await before.completed();
      await assert.rejects(after.completed(), { name: 'RocmforgeError' });
      await assert.rejects(stream.synchronize(), { name: 'RocmforgeError' });
      await assert.rejects(stream.synchronize(), { name: 'RocmforgeError' });
      await assert.rejects(stream.record().completed(), { name: 'RocmforgeError' });
      assert.throws(() => after.query(), { name: 'RocmforgeError' });
      await assert.rejects(other.synchronize(), { name: 'RocmforgeError' });
    },
  );
}
