import type { CallHandle, CallListener } from '../../calls/index.ts';
import type { Generation } from '../../runtime/generation.ts';
import type { SampledToken } from '../../runtime/jobs/sampled-token.ts';
import type { GenerationEnd, PromptProgress, SequenceSink } from '../../runtime/sequence.ts';

const NO_ALTERNATIVES: SampledToken['alternatives'] = [];

/** A generation of an engine on another thread: forwards the results of the call to the sink. */
export class RemoteGeneration
  implements CallListener<number | SampledToken | PromptProgress, GenerationEnd>, Generation
{
  readonly #sink: SequenceSink;
  #call: CallHandle | undefined;
  #received = 0;
  /** How many tokens a reader that wants no more has read. */
  #read: number | undefined;
  #end: GenerationEnd | undefined;

  constructor(sink: SequenceSink) {
    this.#sink = sink;
  }

  /** Called once, with the function that starts the call. */
  begin(call: (listener: this) => CallHandle): this {
    this.#call = call(this);
    return this;
  }

  value(come: number | SampledToken | PromptProgress): void {
    if (this.#read !== undefined) return;
    if (typeof come === 'object' && 'processedTokens' in come) {
      this.#sink.progress?.(come);
      // It is read at once, whatever becomes of the tokens.
      this.#call?.more();
      return;
    }
    this.#received++;
    this.#sink.push(
      typeof come === 'object'
        ? come
        : { id: come, logProbability: undefined, alternatives: NO_ALTERNATIVES },
    );
  }

  done(end: GenerationEnd): void {
    this.#end = end;
    this.#tellEnd(end);
  }

  failed(error: Error): void {
    this.#sink.fail(error);
  }

  more(): void {
    this.#call?.more();
  }

  /** Tokens that were sent but not read are not counted. */
  finish(): void {
    this.#read ??= this.#received - this.#sink.clear();
    if (this.#end) this.#tellEnd(this.#end);
    else this.#call?.finish();
  }

  leave(): void {
    this.#call?.leave();
  }

  #tellEnd(end: GenerationEnd): void {
    const isCut = this.#read !== undefined;
    this.#sink.end(isCut ? { ...end, reason: 'stop', generatedTokens: this.#read as number } : end);
  }
}
