import assert from 'node:assert/strict';
import { serveEngine, type EngineEnvironment } from '../../src/engine/remote/serve-engine.ts';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { sharedConstraints } from '../../src/node/constraints.ts';
import { loadModel, modelOptionsOf, tokenizerOf } from '../../src/node/load-model.ts';
import type { WorkerLoad } from '../../src/node/open-engine.ts';
import { openGguf } from '../../src/node/open-gguf.ts';
import { ownWorkerPort } from '../../src/node/worker-port.ts';
import type { MortalDevice } from './device-loss.ts';
import { openMortalCpu } from './mortal-cpu.ts';

// The entry point of an engine thread that dies on a test's command, or whose device does.

/** A test's commands to it, before `open` or at any time. */
export type MortalOrder =
  /** Dies on a call with this name; with `token`, only for a prompt that begins with it. */
  | { readonly dies: string; readonly token?: number }
  /** Opens devices that are lost before the steps with these numbers, counted from now on. */
  | { readonly loseAt: readonly number[] }
  /** Whether the device can be opened again from now on. */
  | { readonly opens: boolean };

let dies: { readonly dies: string; readonly token?: number } | undefined;
let loseAt: readonly number[] | undefined;
let opens = true;
let steps = 0;

const port = ownWorkerPort();
port.onMessage((message) => take(message as MortalOrder | { kind: string; name?: string; asks?: unknown }));
serveEngine<WorkerLoad>(port, (request, of) => (loseAt ? losable(request, of) : loaded(request, of)));

function take(message: MortalOrder | { kind: string; name?: string; asks?: unknown }): void {
  if ('dies' in message) dies = message;
  else if ('loseAt' in message) [loseAt, steps] = [message.loseAt, 0];
  else if ('opens' in message) opens = message.opens;
  else if (message.kind === 'call' && message.name === dies?.dies) {
    const { prompt } = (message.asks ?? {}) as { prompt?: readonly number[] };
    if (dies?.token === undefined || prompt?.[0] === dies.token) die();
  }
}

/** Outside any awaited code, after the call has begun. */
function die(): void {
  setTimeout(() => {
    throw new Error('something that nobody expected');
  }, 0);
}

function loaded({ location, options }: WorkerLoad, of: EngineEnvironment): Promise<LanguageModel> {
  return loadModel(location, { ...options, ...of });
}

/** A model opened as by `loadModel`, except for its device. Its disposal rejects if anything is left of a device. */
async function losable(
  { location, options }: WorkerLoad,
  { logger, ...of }: EngineEnvironment,
): Promise<LanguageModel> {
  const devices: MortalDevice[] = [];
  const reopen = async () => {
    if (!opens) throw new Error('the card fell off the bus');
    const opened = await openMortalCpu();
    devices.push(opened);
    return opened.device;
  };
  const onStep = (message: string) => {
    if (message === 'step' && loseAt?.includes(steps++)) devices.at(-1)?.lose();
  };
  const gguf = await openGguf(location);
  const parts = { gguf, device: await reopen(), reopen, architectures: ALL_ARCHITECTURES };
  const text = { tokenizer: await tokenizerOf(gguf), constraints: sharedConstraints() };
  const watched = { ...logger, enabled: () => true, trace: onStep };
  const model = await LanguageModel.open(
    { ...parts, ...text },
    { ...modelOptionsOf(options), ...of, logger: watched },
  );
  const dispose = model.dispose.bind(model);
  model.dispose = async () => {
    await dispose();
    for (const { device } of devices) assert.equal(device.liveObjects(), 0);
  };
  return model;
}
