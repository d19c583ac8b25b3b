import assert from 'node:assert/strict';
import { closeSync, openSync, truncateSync, utimesSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type ErrorCode, isRocmforgeError } from '../../src/base/errors.ts';
import type { Device } from '../../src/device/index.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { GgufFile } from '../../src/gguf/index.ts';
import type { ByteSource } from '../../src/io/index.ts';
import { SharedDeviceMemory } from '../../src/load/shared-device-memory.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openSource } from '../../src/node/open-source.ts';
import { temporaryFolder } from './temporary.ts';
import { tinyBytes } from './tiny-model.ts';
import { WatchedSource } from './watched-source.ts';

const OPTIONS: ModelOptions = { context: 32, batch: 1 };

/** A file being loaded, and the caller's means to end that. */
interface Attempt {
  readonly source: ByteSource;
  readonly options?: ModelOptions;
}

/** A fault while a model is loaded, and the error that reports it. */
interface Fault {
  readonly name: string;
  readonly codes: readonly ErrorCode[];
  begin(): Promise<Attempt> | Attempt;
}

/** Faults of a file, and aborts, during a load: a typed error, everything released, and the next load works. */
export async function checkLoadFaults(t: TestContext, device: Device): Promise<void> {
  const sharedMemory = await SharedDeviceMemory.open(device);
  const bytes = await tinyBytes('Q8_0');
  const { free } = await device.memory();
  const life = async ({ source, options }: Attempt): Promise<string> => {
    const gguf = await GgufFile.open(source);
    try {
      const parts = { gguf, device, sharedMemory, architectures: ALL_ARCHITECTURES };
      await using model = await LanguageModel.open(parts, { ...OPTIONS, ...options });
      await model.loaded;
      return await model.generate([1, 40, 41], { temperature: 0, maxTokens: 2, ignoreEnd: true }).text();
    } finally {
      await gguf.dispose();
    }
  };
  const well = () => life({ source: new WatchedSource(bytes) });
  const text = await well();
  const live = device.liveObjects();
  for (const { name, codes, begin } of faults(bytes, temporaryFolder(t))) {
    await assert.rejects(
      async () => life(await begin()),
      (error) => codes.some((code) => isRocmforgeError(error, code)),
      name,
    );
    assert.equal(device.liveObjects(), live, name);
    assert.ok((await device.memory()).free >= free - 2 ** 21, name);
    assert.equal(await well(), text, name);
  }
}

function* faults(bytes: Uint8Array, folder: string): Generator<Fault, void> {
  for (const [load, nth] of [
    ['eager', 3],
    ['background', 12],
    ['sync', 25],
  ] as const) {
    const begin = () => {
      const source = new WatchedSource(bytes);
      source.failFrom = nth + 2;
      return { source, options: { load } };
    };
    yield { name: `read ${nth} fails`, codes: ['READ_FAILED'], begin };
  }
  for (const [load, stage] of [
    ['eager', 0],
    ['background', 1],
  ] as const) {
    const begin = () => aborted(bytes, load, stage);
    yield { name: `abort at ${stage}`, codes: ['ABORTED'], begin };
  }
  yield { name: 'abort at a read', codes: ['ABORTED'], begin: () => abortedAtRead(bytes, 20) };
  const path = join(folder, 'changing.gguf');
  const changing = (change: () => void) => async () => {
    writeFileSync(path, bytes);
    utimesSync(path, 1, 1);
    const source = await openSource(path);
    const { read } = source;
    let reads = 0;
    source.read = async (offset, into, signal) => {
      if (++reads === 12) change();
      await read.call(source, offset, into, signal);
    };
    return { source, options: { load: 'eager' } } as const;
  };
  yield {
    name: 'the file is cut off',
    codes: ['READ_SHORT', 'SOURCE_CHANGED'],
    begin: changing(() => truncateSync(path, Math.floor(bytes.byteLength / 2))),
  };
  yield {
    name: 'the file is written anew',
    codes: ['SOURCE_CHANGED'],
    begin: changing(() => writeOver(path, bytes)),
  };
}

/** The file is never shorter in between. */
function writeOver(path: string, bytes: Uint8Array): void {
  const file = openSync(path, 'r+');
  writeSync(file, bytes);
  closeSync(file);
}

/** Aborts as a read of the weights begins. */
function abortedAtRead(bytes: Uint8Array, nth: number): Attempt {
  const controller = new AbortController();
  const source = new WatchedSource(bytes);
  source.onRead = () => {
    if (source.reads === nth) controller.abort();
  };
  return { source, options: { load: 'eager', signal: controller.signal } };
}

function aborted(bytes: Uint8Array, load: 'eager' | 'background', stage: number): Attempt {
  const controller = new AbortController();
  let reports = 0;
  if (stage === 0) controller.abort();
  const onProgress = () => {
    if (++reports === stage) controller.abort();
  };
  return { source: new WatchedSource(bytes), options: { load, signal: controller.signal, onProgress } };
}
