import { basename } from 'node:path';
import { fail } from '../base/errors.ts';
import type { LanguageModel, ModelOptions } from '../engine/language-model.ts';
import { DEFAULT_CACHE_TYPE } from '../model/layer-states.ts';
import { LoadTrace } from '../load/load-trace.ts';
import { bundledModel } from '../node/bundled-model.ts';
import { type LoadModelOptions, loadModel } from '../node/load-model.ts';
import { adaptersOf } from './adapter-options.ts';
import { byteProgress } from './byte-progress.ts';
import { controlVectorsOf } from './control-vector-options.ts';
import type { CommandContext } from './command.ts';
import type { DeviceFlags, ModelFlags } from './options.ts';
import type { Output } from './output.ts';
import { locatedModel } from './pull-model.ts';
import { profileOf, reportProfile } from './profile.ts';
import { ropeOf } from './rope-options.ts';
import { chatTemplateOf, type TemplateFlags } from './template-options.ts';
import { writeText } from './text-files.ts';

/** A loaded model, and how long loading took. The caller disposes the model. */
export interface LoadedModel {
  readonly model: LanguageModel;
  readonly seconds: number;
  /**
   * Writes the traces and prints the times that the flags ask for, at the end of the work, because weights may be
   * loaded until then. Rejects with `WRITE_FAILED`.
   */
  tell(): Promise<void>;
}

/** What a command's flags say about the model besides its name. */
export type LoadFlags = ModelFlags &
  TemplateFlags &
  DeviceFlags &
  Pick<ModelOptions, 'logitRows' | 'sequences' | 'taps'>;

/** The options of `loadModel` among a command's flags. */
export function loadOptionsOf(flags: LoadFlags): LoadModelOptions {
  const { context, batch, logitRows, sequences, taps, weights, decode } = flags;
  const { load, memory, weightMemory, hostMemory, shrinkContext, pool, speculation } = flags;
  const cacheType = cacheTypeOf(flags);
  const sizes = { context, batch, logitRows, sequences, cacheType, speculation, taps };
  const { deterministic, dequantized, embedding, experts, expertSlots, expertPrefetch, allowUnread } = flags;
  const { device, threads, cpuKernels, gpus, link, gpuLayers } = flags;
  const { workers, workerSplit, workerSecret, workerDeadline } = flags;
  const pooling = flags.pooling === 'cls' ? ('first' as const) : flags.pooling;
  const model = {
    ...sizes,
    deterministic,
    weights,
    decode,
    dequantized,
    embedding,
    experts,
    expertSlots,
    expertPrefetch,
    pooling,
    allowUnread,
  };
  const rest = {
    headers: flags.header,
    load,
    memory,
    weightMemory,
    hostMemory,
    shrinkContext,
    pool,
    device,
    threads,
    cpuKernels,
    ...gpus,
    link,
    gpuLayers,
    workers,
    workerSplit,
    workerSecret,
    workerDeadline,
  };
  return {
    ...model,
    ...rest,
    ...adaptersOf(flags),
    ...controlVectorsOf(flags),
    ...draftOf(flags),
    ...ropeOf(flags),
  };
}

/** One type for keys and values, or one for each. */
function cacheTypeOf({ cacheType, cacheTypeK, cacheTypeV }: LoadFlags): LoadModelOptions['cacheType'] {
  if (cacheTypeK === undefined && cacheTypeV === undefined) return cacheType;
  const keys = cacheTypeK ?? cacheType ?? DEFAULT_CACHE_TYPE;
  return { keys, values: cacheTypeV ?? cacheType ?? DEFAULT_CACHE_TYPE };
}

/** What `--draft` says for the block of the model's own file that predicts further tokens. */
const OWN_PREDICTOR = 'mtp';

type DraftOption = 'draft' | 'predictor' | 'speculation' | 'minDraftTokens' | 'minDraftProbability';

function draftOf({
  draft: path,
  draftMax: tokens,
  draftMin: minDraftTokens,
  draftPMin: minDraftProbability,
  draftDevice: device,
  speculation,
}: LoadFlags): Pick<LoadModelOptions, DraftOption> {
  const limits = { minDraftTokens, minDraftProbability };
  if (path === OWN_PREDICTOR) {
    const expected = `no device of its own for --draft ${OWN_PREDICTOR}`;
    if (device !== undefined) fail('INVALID_ARGUMENT', { name: '--draft-device', found: device, expected });
    return { ...limits, predictor: true, speculation: tokens };
  }
  if (path !== undefined) return { ...limits, draft: { path, tokens, device } };
  const ofDraft = { '--draft-max': tokens, '--draft-device': device, '--draft-p-min': minDraftProbability };
  const unused = speculation === undefined ? { ...ofDraft, '--draft-min': minDraftTokens } : ofDraft;
  for (const [name, value] of Object.entries(unused)) {
    if (value !== undefined) fail('INVALID_ARGUMENT', { name, found: 'no --draft', expected: 'a draft' });
  }
  return limits;
}

/** Says what can be expected of the bundled model, and how to get another one. */
export function noteBundledModel(output: Output): void {
  output.note(
    'This is the bundled model, a toy of 26 million weights. A real one: ' +
      'rocmforge chat hf:unsloth/Qwen3-4B-Instruct-2507-GGUF; rocmforge models suggests others.',
  );
}

/** Loads the model that the flags name, showing its progress. */
export async function loadFromFlags(flags: LoadFlags, context: CommandContext): Promise<LoadedModel> {
  const { output, signal, logger } = context;
  if (flags.model === undefined) noteBundledModel(output);
  const location = await locatedModel(flags.model ?? bundledModel(), flags, context);
  const begin = performance.now();
  const display = await byteProgress(output, { doing: 'loading', done: 'loaded', name: basename(location) });
  const trace = flags.loadTrace === undefined ? undefined : new LoadTrace();
  const profile = profileOf(flags);
  try {
    const model = await loadModel(location, {
      ...loadOptionsOf(flags),
      chatTemplate: await chatTemplateOf(flags),
      trace,
      profile,
      signal,
      logger,
      onProgress: ({ bytes, totalBytes }) => display.show(bytes, totalBytes),
    });
    try {
      await model.loaded;
      const seconds = (performance.now() - begin) / 1000;
      display.end(seconds);
      const tell = async () => {
        if (flags.loadTrace !== undefined) await writeText(flags.loadTrace, JSON.stringify(trace));
        await reportProfile(profile, flags, output);
      };
      return { model, seconds, tell };
    } catch (error) {
      await model.dispose();
      throw error;
    }
  } finally {
    display.clear();
  }
}
