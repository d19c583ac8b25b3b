import { z } from 'zod';
import type { PromptProgress } from '../../runtime/sequence.ts';
import type { ChoiceEvent, ChoiceEvents } from './choice-event.ts';
import { type Timings, timingsOf } from './timings.ts';

/** Fields of llama.cpp's server for what a stream tells besides its text. */
export const telemetryFields = {
  return_progress: z
    .boolean()
    .nullish()
    .describe('A stream also tells, in prompt_progress, how much of the prompt has been computed.'),
  timings_per_token: z.boolean().nullish().describe('Each piece of a stream has the timings so far.'),
};

/** What a stream tells besides its text. */
export interface Telemetry {
  readonly progress: boolean;
  readonly timings: boolean;
}

/** What a request wants to know; undefined if it is nothing, or it gets one answer at the end. */
export function telemetryOf({
  stream,
  return_progress: progress,
  timings_per_token: timings,
}: z.output<z.ZodObject<typeof telemetryFields>> & { readonly stream?: boolean | null | undefined }):
  Telemetry | undefined {
  if (!stream || (!progress && !timings)) return undefined;
  return { progress: progress === true, timings: timings === true };
}

/** What an event tells besides its text, by the names of llama.cpp's server. */
export function told(event: Exclude<ChoiceEvent, { kind: 'begin' }>): object {
  return {
    ...(event.kind === 'prompt' && { prompt_progress: progressFields(event.progress) }),
    ...(event.timings && { timings: event.timings }),
  };
}

function progressFields({ promptTokens, cachedTokens, processedTokens, seconds }: PromptProgress): object {
  return { total: promptTokens, cache: cachedTokens, processed: processedTokens, time_ms: 1000 * seconds };
}

/**
 * The events of a choice with the progress of its prompt before them, and with the timings so far. `begin` begins the
 * choice, which tells its progress to the given function.
 */
export async function* withTelemetry(
  begin: (onPrompt: (progress: PromptProgress) => void) => ChoiceEvents,
  { choice, telemetry }: { readonly choice: number; readonly telemetry: Telemetry },
): ChoiceEvents {
  const notes: PromptProgress[] = [];
  let wake = () => {};
  const events = begin((progress) => {
    notes.push(progress);
    wake();
  });
  const next = () => {
    const come = events.next();
    // Handled when it is awaited, unless the events are left before.
    come.catch(() => {});
    return come;
  };
  const meter = new TextMeter();
  const timings = () => (telemetry.timings ? { timings: meter.timings } : {});
  try {
    for (let coming = next(); ; coming = next()) {
      let come: Awaited<typeof coming> | undefined;
      while (!come) {
        const noted = new Promise<undefined>((resolve) => {
          wake = () => resolve(undefined);
        });
        come = await Promise.race([coming, notes.length > 0 ? undefined : noted]);
        for (const progress of notes.splice(0)) {
          meter.prompt(progress);
          if (telemetry.progress) yield { kind: 'prompt', choice, progress, ...timings() };
        }
      }
      if (come.done) return;
      meter.take(come.value);
      yield { ...come.value, ...timings() };
    }
  } finally {
    await events.return();
  }
}

/** Measures a text that has not ended. */
class TextMeter {
  #prompt: PromptProgress | undefined;
  #tokens = 0;
  #firstToken = 0;

  prompt(progress: PromptProgress): void {
    this.#prompt = progress;
  }

  take(event: Exclude<ChoiceEvent, { kind: 'begin' }>): void {
    if (event.kind !== 'text' || !event.token) return;
    if (this.#tokens++ === 0) this.#firstToken = performance.now();
  }

  get timings(): Timings {
    const { processedTokens = 0, cachedTokens = 0, seconds = 0 } = this.#prompt ?? {};
    return timingsOf({
      promptTokens: processedTokens,
      cachedTokens,
      generatedTokens: this.#tokens,
      promptSeconds: seconds,
      generateSeconds: this.#tokens > 0 ? (performance.now() - this.#firstToken) / 1000 : 0,
      proposedTokens: 0,
      acceptedTokens: 0,
    });
  }
}
