import assert from 'node:assert/strict';
import type { Device } from '../../src/device/index.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { GgufFile } from '../../src/gguf/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { failingDevice } from './failing-device.ts';
import { tinyBytes } from './tiny-model.ts';
import { WatchedSource } from './watched-source.ts';

/** Which creations fail: all, or the first and every `step`th after it, if loading takes long. */
export interface FailedCreations {
  readonly load: ModelOptions['load'];
  readonly step: number;
}

/**
 * A model's whole life for each buffer, pinned slot, stream, program and recorded step whose creation fails: the error
 * reaches the caller or is harmless, nothing is left behind, and a second load works. The device is the caller's.
 */
export async function checkFailedCreations(device: Device, { load, step }: FailedCreations): Promise<void> {
  const failing = failingDevice(device);
  const bytes = await tinyBytes('Q8_0');
  const before = device.liveObjects();
  const life = async () => {
    failing.created = 0;
    const gguf = await GgufFile.open(new WatchedSource(bytes));
    const parts = { gguf, device: failing.device, architectures: ALL_ARCHITECTURES };
    await using model = await LanguageModel.open(parts, { context: 32, batch: 1, load });
    const options = { temperature: 0, maxTokens: 3, ignoreEnd: true };
    return await model.generate([1, 40, 41, 42, 43], options).text();
  };
  const text = await life();
  assert.equal(device.liveObjects(), before);
  const { created } = failing;
  assert.ok(created > 30, `${created} creations`);
  for (let nth = 1; nth <= created; nth += step) {
    failing.failAt = nth;
    await life().then(
      (found) => assert.equal(found, text),
      (error: unknown) => assert.match(String(error), /no (?:create|compile|record)/),
    );
    assert.equal(device.liveObjects(), before, `creation ${nth} of ${created}`);
    failing.failAt = undefined;
  }
  assert.equal(await life(), text);
}
