import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import {
  type BufferRange,
  type Device,
  type DeviceEvent,
  MemoryBudget,
  memoryRules,
  type Stream,
} from '../../src/device/index.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { SharedDeviceMemory } from '../../src/load/shared-device-memory.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openGguf } from '../../src/node/open-gguf.ts';
import { summaryOf } from '../../src/plan/memory/fit-plan.ts';
import { deviceWith } from '../support/device-with.ts';
import { OPTIONS, openOnHost, reachingDevice, say } from '../support/host-experts.ts';
import { familyPaths } from '../support/family-fixtures.ts';
import { writeAdapter } from '../support/lora-fixtures.ts';
import { logitsOf } from '../support/prompt-chunk-tests.ts';
import { temporaryFolder } from '../support/temporary.ts';

const IDS = [7, 25, 53, 30, 17, 14, 21, 38];

test('experts in the memory of the host compute the same bits', async () => {
  await using whole = await openOnHost('gemma4');
  await using host = await openOnHost('gemma4', { experts: 'host', expertSlots: 3 });
  assert.deepEqual(await logitsOf(host, IDS), await logitsOf(whole, IDS));
});

test('the most used experts get copies, by which most choices are then computed', async () => {
  await using whole = await openOnHost('qwen3moe');
  const said = await say(whole, 60);
  await using host = await openOnHost('qwen3moe', { experts: 'host', expertSlots: 9 });
  assert.deepEqual(await say(host, 60), said);
  const { expertHits, expertMisses, expertBytes } = host.counters;
  assert.deepEqual(await say(host, 60), said);
  const again = host.counters;
  const [hits, misses] = [again.expertHits - expertHits, again.expertMisses - expertMisses];
  assert.ok(expertMisses > 0 && hits > 2 * misses, `${hits} of ${hits + misses} choices by copies`);
  // What is used no more than before stays where it is.
  assert.ok(again.expertBytes - expertBytes < expertBytes);
});

test('slots are written behind the steps that read them, and read once they are complete', async () => {
  await using whole = await openOnHost('qwen3moe');
  const device = reachingDevice();
  const createStream = (label: string) => {
    const stream = device.createStream(label);
    return label === 'copies of experts' ? slowly(stream) : stream;
  };
  const slow = deviceWith(device, { createStream });
  await using host = await openOnHost('qwen3moe', { experts: 'host', expertSlots: 5 }, slow);
  for (const start of [3, 44]) {
    assert.deepEqual(await say(host, 60, [start, start + 1]), await say(whole, 60, [start, start + 1]));
  }
  assert.ok(host.counters.expertBytes > 0);
});

/** A stream whose copies leave no numbers first, and come when others have had many turns. */
function slowly(stream: Stream): Stream {
  const late: (() => void)[] = [];
  let waits = 0;
  return new Proxy(stream, {
    get(target, name) {
      if (name === 'wait') {
        return (event: DeviceEvent) => {
          waits++;
          target.wait(event);
        };
      }
      if (name === 'copy') {
        return (from: BufferRange, to: BufferRange) => {
          assert.ok(waits > 0, 'copies come behind the steps so far');
          target.upload(new Uint8Array(to.byteLength).fill(0xff), to);
          late.push(() => target.copy(from, to));
        };
      }
      if (name === 'synchronize') {
        return async () => {
          await target.synchronize();
          await setTimeout(30);
          for (const copy of late.splice(0)) copy();
          await target.synchronize();
        };
      }
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

test('a round whose copies fail leaves all experts where they are, and later ones go on', async () => {
  await using whole = await openOnHost('qwen3moe');
  const device = reachingDevice();
  let failing = 1;
  const createStream = (label: string) => {
    const stream = device.createStream(label);
    return label === 'copies of experts' && failing-- > 0 ? refusing(stream) : stream;
  };
  await using host = await openOnHost(
    'qwen3moe',
    { experts: 'host', expertSlots: 5 },
    deviceWith(device, { createStream }),
  );
  assert.deepEqual(await say(host, 60), await say(whole, 60));
  assert.ok(failing < 0 && host.counters.expertHits > 0);
});

/** A stream that ends with an error. */
function refusing(stream: Stream): Stream {
  return new Proxy(stream, {
    get(target, name) {
      if (name === 'synchronize') return () => Promise.reject(new Error('refused'));
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

test('as many copies as fit, within the memory of the device and of the host', async () => {
  await using whole = await openOnHost('qwen3moe');
  const weightMemory = Math.floor(0.6 * whole.fit.weights);
  const hostMemory = new MemoryBudget('host', 2 ** 24);
  {
    await using host = await openOnHost('qwen3moe', { experts: 'host', weightMemory, hostMemory });
    const { expertSlots, weights, streamedParts, pinned } = host.fit;
    assert.ok(expertSlots > 1 && expertSlots < 16 && weights <= weightMemory, `${expertSlots} slots`);
    assert.equal(streamedParts, 0);
    assert.ok(pinned > 0 && weights + pinned > whole.fit.weights);
    assert.equal(hostMemory.info.total - hostMemory.info.free, pinned);
    assert.deepEqual(await say(host, 40), await say(whole, 40));
  }
  assert.equal(hostMemory.info.free, hostMemory.info.total);
  await using all = await openOnHost('qwen3moe', { experts: 'host' });
  assert.equal(all.fit.expertSlots, 16);
  await assert.rejects(
    openOnHost('qwen3moe', { experts: 'host', hostMemory: new MemoryBudget('host', 4096) }),
    {
      code: 'MODEL_TOO_LARGE',
      message: /experts in pinned host memory/,
    },
  );
  // Layers are not streamed besides: their copies have to stay.
  await assert.rejects(openOnHost('qwen3moe', { experts: 'host', weightMemory: 4096 }), {
    code: 'MODEL_TOO_LARGE',
  });
});

test('what a sequence holds goes on with experts elsewhere, and several run together', async () => {
  await using whole = await openOnHost('qwen3moe', { sequences: 3 });
  await using host = await openOnHost('qwen3moe', { sequences: 3, experts: 'host', expertSlots: 4 });
  const texts = [[1, 2], [3], [4, 5, 6]];
  const all = (model: LanguageModel) => Promise.all(texts.map((ids) => say(model, 30, ids)));
  const expected = await all(whole);
  assert.deepEqual(await all(host), expected);
  const [first = [], said = []] = [texts[0], expected[0]];
  const known = [...first, ...said.slice(0, 20)];
  await whole.restoreState(await host.saveState(known));
  assert.deepEqual(await say(whole, 10, known), said.slice(20));
});

test('adapters come and go while experts are in the memory of the host', async (t) => {
  const path = join(temporaryFolder(t), 'adapter.gguf');
  const { model } = familyPaths({ name: 'qwen3moe', sizes: {} });
  await writeAdapter(path, { rank: 4, alpha: 8, targets: /attn_q\.weight/, seed: 3 }, model);
  const adapters = { maxAdapters: 1, maxAdapterRank: 4 };
  await using whole = await openOnHost('qwen3moe', adapters);
  await using host = await openOnHost('qwen3moe', { ...adapters, experts: 'host', expertSlots: 5 });
  const said: number[][] = [];
  for (const each of [whole, host]) {
    const before = await say(each, 24);
    await each.loadAdapter('own', path);
    await each.scaleAdapters(new Map([['own', 1]]));
    const adapted = await say(each, 24);
    await each.unloadAdapter('own');
    said.push([...before, ...adapted, ...(await say(each, 24))]);
  }
  assert.deepEqual(said[1], said[0]);
  assert.notDeepEqual(said[0]?.slice(0, 24), said[0]?.slice(24, 48));
});

test("taps see the values of layers whose experts are in the host's memory", async () => {
  const seen: number[] = [];
  const taps = new Map([['blk.0.ffn_gate_inp', ({ rows }: { rows: number }) => void seen.push(rows)]]);
  await using host = await openOnHost('qwen3moe', { experts: 'host', expertSlots: 4, taps });
  await using whole = await openOnHost('qwen3moe');
  assert.deepEqual(await say(host, 40), await say(whole, 40));
  assert.ok(seen.length >= 40);
});

test("where all memory is the host's, experts are there anyway", async () => {
  await using whole = await openOnHost('qwen3moe', {}, openReferenceDevice());
  await using host = await openOnHost('qwen3moe', { experts: 'host' }, openReferenceDevice());
  assert.equal(host.fit.expertSlots, 0);
  assert.deepEqual(summaryOf(host.fit), summaryOf(whole.fit));
  assert.deepEqual(await logitsOf(host, IDS), await logitsOf(whole, IDS));
});

test("what does not go with experts in the host's memory is refused by name", async () => {
  const refused = (name: string, options: ModelOptions, message: RegExp, device?: Device) =>
    assert.rejects(openOnHost(name, options, device), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'INVALID_ARGUMENT');
      assert.match(error.message, message);
      return true;
    });
  await refused('llama', { experts: 'host' }, /a model with experts/);
  await refused('qwen3moe', { experts: 'host', expertPrefetch: 2 }, /expertPrefetch/);
  await refused('qwen3moe', { experts: 'host', expertSlots: 2 }, /expertSlots/, openReferenceDevice());
  const apart = deviceWith(openReferenceDevice(), {
    memoryRules: memoryRules({ pinnedInside: (use) => use === 'weights' }),
  });
  await refused('qwen3moe', { experts: 'host' }, /stream: kernels of reference read no memory/, apart);
  await using device = reachingDevice();
  await using gguf = await openGguf(familyPaths({ name: 'qwen3moe', sizes: {} }).model);
  const sharedMemory = await SharedDeviceMemory.open(device, { memory: 2 ** 30 });
  const parts = { gguf, device, sharedMemory, architectures: ALL_ARCHITECTURES };
  await assert.rejects(LanguageModel.open(parts, { ...OPTIONS, experts: 'host' }), {
    code: 'INVALID_ARGUMENT',
    message: /shares its memory/,
  });
});
