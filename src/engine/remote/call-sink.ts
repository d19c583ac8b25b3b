import type { CallContext } from '../../calls/index.ts';
import type { SampledToken } from '../../runtime/jobs/sampled-token.ts';
import type { GenerationEnd, PromptProgress, SequenceSink } from '../../runtime/sequence.ts';
import type { LanguageModel } from '../language-model.ts';
import type { EngineCalls } from './engine-calls.ts';

type BeginCall = EngineCalls['begin'];

/**
 * Sends the tokens of a sequence as the values of a call. Sent tokens count as read: the reader subtracts what it did
 * not read.
 */
class CallSink implements SequenceSink {
  readonly #context: CallContext<BeginCall['value']>;
  /** Settles with the first end or failure. */
  readonly ended: Promise<GenerationEnd>;
  end: (end: GenerationEnd) => void = () => {};
  fail: (error: unknown) => void = () => {};

  constructor(context: CallContext<BeginCall['value']>) {
    this.#context = context;
    this.ended = new Promise((resolve, reject) => {
      this.end = resolve;
      this.fail = reject;
    });
  }

  get isBehind(): boolean {
    return this.#context.isBehind;
  }

  push(token: SampledToken): void {
    const isPlain = token.logProbability === undefined && token.named === undefined;
    this.#context.tell(isPlain ? token.id : token);
  }

  progress(of: PromptProgress): void {
    this.#context.tell(of);
  }

  clear(): number {
    return 0;
  }
}

/** Generates for a call until the generation has ended for any reason. */
export async function sendTokens(
  model: LanguageModel,
  asks: BeginCall['asks'],
  context: CallContext<BeginCall['value']>,
): Promise<GenerationEnd> {
  const sink = new CallSink(context);
  const prompt = Array.from(asks.prompt);
  const generation = model.begin({ ...asks, prompt, signal: context.signal }, sink);
  context.react(generation);
  try {
    return await sink.ended;
  } finally {
    generation.leave();
  }
}
