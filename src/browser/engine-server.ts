import { invariant, isRocmforgeError } from '../base/errors.ts';
import { type CallContext, ProgressWatch, serveCalls } from '../calls/index.ts';
import type { WorkerPort } from '../device/index.ts';
import { LanguageModel } from '../engine/language-model.ts';
import type { TextChunk, TextEnd, TextStream } from '../engine/text-stream.ts';
import { GgufFile } from '../gguf/index.ts';
import { dialectOf } from '../text/index.ts';
import { ALL_ARCHITECTURES } from '../model/architectures/index.ts';
import { summaryOf } from '../plan/memory/fit-plan.ts';
import { decodesOnHost } from '../plan/parts/plan-options.ts';
import {
  type ApiRequest,
  type BrowserLoadProgress,
  type EngineCalls,
  type ModelDescription,
  type OpenRequest,
  type ResponsePart,
  SENDABLE_OPTIONS,
  type SendableOptions,
} from './engine-calls.ts';
import type { ModelFetch } from '../server/index.ts';
import { canShareMemory, openDecoder } from './open-cpu.ts';
import { type BackendName, openDevice } from './open-device.ts';
import { SourceOpener } from './open-source.ts';

/** Serves a page's calls with one model, which `open` loads. */
export function runEngineServer(port: WorkerPort): void {
  const loading = new ProgressWatch<BrowserLoadProgress>();
  let model: LanguageModel | undefined;
  let api: Promise<ModelFetch> | undefined;
  const opened = (): LanguageModel => {
    invariant(model, 'a model is opened before it is used');
    return model;
  };
  serveCalls<EngineCalls>(port, {
    progress: (_, context) => loading.watch(context),
    open: async (request, { signal }) => {
      model = await loading.during(openModel(request, signal, (progress) => loading.tell(progress)));
      return describe(model);
    },
    chat: async ({ messages, options }, context) =>
      sendText(opened().chat(messages, { ...options, signal: context.signal }), context),
    generate: async ({ prompt, options }, context) =>
      sendText(opened().generate(prompt, { ...options, signal: context.signal }), context),
    fetch: async (request, context) => {
      api ??= apiOf(opened());
      await sendResponse(await api, request, context);
    },
    loaded: async () => opened().loaded,
    reset: async () => opened().reset(),
    dispose: async () => model?.dispose(),
  });
}

/** Loads a model while it still downloads, and returns it once it is complete and verified. */
async function openModel(
  { location, options }: OpenRequest,
  signal: AbortSignal,
  onProgress: (progress: BrowserLoadProgress) => void,
): Promise<LanguageModel> {
  const sources = new SourceOpener(location, { ...options, signal, onProgress });
  const opened: AsyncDisposable[] = [];
  const keep = <T extends AsyncDisposable>(resource: T): T => {
    opened.unshift(resource);
    return resource;
  };
  try {
    const gguf = keep(await openGguf(sources, signal));
    const decoder = decodes(options, gguf) ? keep(await openDecoder(options)) : undefined;
    const device = keep(await openDevice(options));
    const reopen = () => openDevice({ ...options, device: device.info.backend as BackendName });
    const parts = { gguf, device, decoder, reopen, architectures: ALL_ARCHITECTURES };
    const model = await LanguageModel.open(parts, { ...ofModel(options), signal, onProgress });
    opened.splice(0, opened.length, model);
    await sources.whole();
    return model;
  } catch (error) {
    for (const resource of opened) await resource[Symbol.asyncDispose]();
    throw error;
  }
}

/** The options without those for the device and the download. */
function ofModel(options: OpenRequest['options']): Partial<SendableOptions> {
  return Object.fromEntries(
    Object.entries(options).filter(([name]) => Object.hasOwn(SENDABLE_OPTIONS, name)),
  );
}

/** A file that turns out not to be a model is not kept. */
async function openGguf(sources: SourceOpener, signal: AbortSignal): Promise<GgufFile> {
  try {
    const first = await sources.first();
    return await GgufFile.open(first, { signal, resolveSibling: (name) => sources.sibling(name) });
  } catch (error) {
    // If it cannot be removed, the reason why it is not a model is still the more useful error.
    if (isRocmforgeError(error) && error.code.startsWith('GGUF_')) await sources.discard().catch(() => {});
    throw error;
  }
}

/** Whether separate workers decode weights; if they cannot share memory, the engine's worker decodes. */
function decodes(options: OpenRequest['options'], gguf: GgufFile): boolean {
  return decodesOnHost(options, gguf) && canShareMemory();
}

/** Sends the chunks of a text; the call's answer is the end of the text. */
async function sendText<C extends TextChunk>(
  text: TextStream<C>,
  context: CallContext<C>,
): Promise<TextEnd | undefined> {
  for await (const chunk of text) {
    await context.send(chunk);
    if (context.left) return undefined;
  }
  return text.end;
}

/** The code of the API is loaded when a page asks it. */
async function apiOf(model: LanguageModel): Promise<ModelFetch> {
  const { modelFetch } = await import('../server/index.ts');
  return modelFetch(model);
}

/** Sends the response to a request. A page that leaves it ends what it asked for. */
async function sendResponse(
  api: ModelFetch,
  { url, method, headers, body }: ApiRequest,
  context: CallContext<ResponsePart>,
): Promise<void> {
  const { signal } = context;
  const response = await api(url, { method, headers: [...headers], signal, ...(body && { body }) });
  await context.send({ status: response.status, headers: [...response.headers] });
  const reader = response.body?.getReader();
  while (reader) {
    const { done, value } = await reader.read();
    if (done) return;
    await context.send(value);
    if (context.left) return reader.cancel();
  }
}

function describe(model: LanguageModel): ModelDescription {
  const { gguf, config, context, batch, device, fit } = model;
  return {
    callIdLength: callIdLengthOf(model),
    name: gguf.metadata.string('general.name') ?? gguf.name,
    architecture: config.architecture,
    context,
    batch,
    byteLength: gguf.byteLength,
    device: { info: device.info },
    fit: summaryOf(fit),
  };
}

/** The length of tool call ids that the model's template accepts; undefined for any length, and without a template. */
function callIdLengthOf(model: LanguageModel): number | undefined {
  try {
    return dialectOf(model.chatTemplate.toolSource).idLength;
  } catch (error) {
    if (isRocmforgeError(error)) return undefined;
    throw error;
  }
}
