import { fail } from '../../base/errors.ts';
import type { FitPlan, MemoryLimits } from '../../plan/memory/fit-plan.ts';
import { describeModel } from '../../plan/parts/plan-options.ts';
import { type Drafter, readDrafter } from '../../model/drafter.ts';
import { checkDraft, checkVocabulary } from './check-draft.ts';
import type { ModelOptions, ModelSetup } from './loaded-model.ts';

/** Default number of draft tokens per step with a draft model; like the others, no fewer than `minDraftTokens`. */
const DEFAULT_DRAFT_TOKENS = 4;
/** The same with the model's own predictor, which knows less of tokens further ahead. */
const DEFAULT_PREDICTED_TOKENS = 3;
/** The same with a drafter that guesses a whole block at once, of which each further token costs little. */
const DEFAULT_MASKED_TOKENS = 7;

/** Setup and options of a model. */
export interface DraftSetup {
  readonly setup: ModelSetup;
  readonly options: ModelOptions;
}

/**
 * The options with room for draft tokens, if there is a draft model or the model's own predictor is used. Throws
 * `INVALID_ARGUMENT` for both at once, and for limits that they cannot keep.
 */
export function withSpeculation({ draft }: ModelSetup, options: ModelOptions): ModelOptions {
  const { predictor, speculation, minDraftTokens = 0 } = options;
  if (draft && predictor) {
    const expected = "a draft model or the model's own predictor";
    fail('INVALID_ARGUMENT', { name: 'predictor', found: 'a draft model beside it', expected });
  }
  checkLimits(options, {
    hasModel: draft !== undefined,
    drafts: predictor === true || speculation !== undefined,
  });
  if (!draft && !predictor) return options;
  return {
    ...options,
    speculation:
      speculation ?? Math.max(draft ? DEFAULT_DRAFT_TOKENS : DEFAULT_PREDICTED_TOKENS, minDraftTokens),
  };
}

/**
 * The model with its drafter as a part, if the draft is no model of its own. Takes no ownership. Rejects as `readDrafter`,
 * and with `DRAFT_UNSUPPORTED` for a drafter on another device.
 */
export async function withDrafter(setup: ModelSetup, options: ModelOptions): Promise<DraftSetup> {
  const { draft } = setup;
  if (!draft || 'generateTokens' in draft) return { setup, options };
  const { config } = describeModel(setup, { ...options, speculation: 0, predictor: false });
  const drafter = await readDrafter(draft.gguf, { gguf: setup.gguf, config });
  if (!drafter) return { setup, options };
  if (draft.device) {
    const expected = "none: it is a part of the model's steps";
    fail('DRAFT_UNSUPPORTED', { model: draft.gguf.name, found: 'a device of its own', expected });
  }
  checkVocabulary(setup.gguf, draft.gguf);
  const speculation = draftedTokens(drafter, options);
  return {
    setup: { ...setup, draft: undefined, drafter },
    options: { ...options, speculation, predictor: true },
  };
}

/** The number of draft tokens per step, of which a drafter that fills masks has a block at most. */
function draftedTokens({ predictor }: Drafter, { speculation, minDraftTokens = 0 }: ModelOptions): number {
  if (predictor.kind !== 'masks') return speculation ?? Math.max(DEFAULT_DRAFT_TOKENS, minDraftTokens);
  const most = predictor.block - 1;
  if (speculation !== undefined && speculation > most) {
    const expected = `at most ${most} with this drafter, which fills blocks of ${predictor.block}`;
    fail('INVALID_ARGUMENT', { name: 'speculation', found: String(speculation), expected });
  }
  if (minDraftTokens > most) {
    const expected = `at most ${most} with this drafter, which fills blocks of ${predictor.block}`;
    fail('INVALID_ARGUMENT', { name: 'minDraftTokens', found: String(minDraftTokens), expected });
  }
  return speculation ?? Math.max(Math.min(most, DEFAULT_MASKED_TOKENS), minDraftTokens);
}

function checkLimits(
  of: ModelOptions,
  { hasModel, drafts }: { readonly hasModel: boolean; readonly drafts: boolean },
): void {
  const { minDraftTokens: tokens = 0, minDraftProbability: probability = 0, speculation: most = tokens } = of;
  const refuse = (name: string, found: number, expected: string) =>
    fail('INVALID_ARGUMENT', { name, found: String(found), expected });
  if (!Number.isSafeInteger(tokens) || tokens < 0)
    refuse('minDraftTokens', tokens, 'a whole number of draft tokens');
  if (tokens > 0 && !hasModel && !drafts)
    refuse('minDraftTokens', tokens, "speculation, a draft model, or the model's own predictor");
  if (tokens > most) refuse('minDraftTokens', tokens, `at most the ${most} draft tokens of a step`);
  if (!(probability >= 0 && probability <= 1))
    refuse('minDraftProbability', probability, 'a probability from 0 to 1');
  if (probability > 0 && !hasModel)
    refuse('minDraftProbability', probability, 'a draft model, which says how probable its tokens are');
}

/**
 * How a draft model is opened: undefined if there is none, or if it is already open. Throws `DRAFT_UNSUPPORTED` or
 * `DRAFT_VOCABULARY` for an unsuitable one, and as `describeModel`.
 */
export function planDraft(setup: ModelSetup, options: ModelOptions): DraftSetup | undefined {
  const { draft, architectures, device, sharedMemory } = setup;
  if (!draft) return undefined;
  const model = describeModel(setup, options);
  if ('generateTokens' in draft) {
    checkDraft({ gguf: setup.gguf, config: model.config }, draft);
    return undefined;
  }
  const { gguf, device: own, reopen } = draft;
  const where = own ? { device: own, reopen } : { device, sharedMemory, sharesDevice: true };
  const source: ModelSetup = { gguf, ...where, architectures };
  const { config } = describeModel(source, {});
  checkDraft({ gguf: setup.gguf, config: model.config }, { gguf, config });
  const { batch, deterministic, sequences, cachePositions, cacheType, inFlight, preparedSteps, pool } =
    options;
  const { load, memory, runtime, allowUnread, logger, signal } = options;
  const context = Math.min(model.setup.context, config.trainedContext);
  const sizes = {
    context,
    batch,
    deterministic,
    sequences,
    cachePositions,
    cacheType,
    inFlight,
    preparedSteps,
    pool,
    // On the model's device, memory to spare is the model's.
    dequantized: own ? undefined : false,
  };
  // On a pipeline, it is on the last stage alone.
  const gpuLayers = (own ?? device).stages ? ('all' as const) : undefined;
  const how = { load, memory, runtime, allowUnread, logger, signal };
  return { setup: source, options: { ...sizes, gpuLayers, ...how } };
}

/** The limits that a draft model on the same device leaves; it is on the last stage of a pipeline. */
export function besideDraft(limits: MemoryLimits, draft: FitPlan | undefined): MemoryLimits {
  if (!draft) return limits;
  const { free = Number.POSITIVE_INFINITY, stageFree } = limits;
  const left = stageFree?.map((of, stage) => (stage === stageFree.length - 1 ? of - draft.onDevice : of));
  return { ...limits, free: free - draft.onDevice, stageFree: left };
}

/** A model's memory plan including its draft model. */
export function withDraftMemory(fit: FitPlan, draft: FitPlan, isShared: boolean): FitPlan {
  const onDevice = isShared ? draft.onDevice : 0;
  return { ...fit, draft: draft.total, total: fit.total + draft.total, onDevice: fit.onDevice + onDevice };
}
