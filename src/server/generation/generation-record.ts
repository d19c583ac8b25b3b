import type { TextEnd } from '../../engine/text-stream.ts';
import type { RequestContext } from '../request-context.ts';

/** Records the times and counts of a request's choices for the log, the metrics and the trace. */
export class GenerationRecord {
  readonly #call: RequestContext;
  readonly #model: string;
  readonly #reasons: string[] = [];
  #generated = 0;
  #cached = 0;

  /** The request is prepared: its model is loaded, and its prompt is encoded. */
  constructor(call: RequestContext, model: string, operation: 'chat' | 'text_completion') {
    this.#call = call;
    this.#model = model;
    call.span?.note({
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': 'rocmforge',
      'gen_ai.response.model': model,
    });
    call.span?.part('prepare', { begin: call.startedAt, end: performance.now() });
  }

  /** A choice begins. */
  choice(index: number): ChoiceRecord {
    const { startedAt, endpoint } = this.#call;
    const { metrics } = this.#call.server;
    const of = { model: this.#model, endpoint: endpoint.path };
    const onEnd = (end: TextEnd, begin: number) => {
      this.#reasons[index] = end.reason;
      this.#generated += end.generatedTokens;
      this.#cached = Math.max(this.#cached, end.cachedTokens);
      metrics.generation({ ...end, ...of });
      this.#trace(end, begin, index);
    };
    return new ChoiceRecord(
      startedAt,
      (isFirst, seconds) => metrics.token({ ...of, isFirst, seconds }),
      onEnd,
    );
  }

  /** The request has finished. */
  report(promptTokens: number): void {
    const facts = { promptTokens, cachedTokens: this.#cached, generatedTokens: this.#generated };
    this.#call.addLogFields({ model: this.#model, ...facts });
    this.#call.span?.note({
      'gen_ai.usage.input_tokens': promptTokens,
      'gen_ai.usage.output_tokens': this.#generated,
      'gen_ai.usage.cache_read.input_tokens': this.#cached,
      'gen_ai.response.finish_reasons': this.#reasons.filter((reason) => reason !== undefined),
    });
  }

  /** Traces the phases of a choice, from its beginning. */
  #trace(
    { queueSeconds, promptSeconds, generateSeconds, ...end }: TextEnd,
    begin: number,
    choice: number,
  ): void {
    const { span } = this.#call;
    const first = begin + 1000 * queueSeconds;
    const token = first + 1000 * promptSeconds;
    span?.part('queue', { begin, end: first }, { 'rocmforge.choice': choice });
    span?.part('prefill', { begin: first, end: token }, { 'rocmforge.choice': choice });
    const tokens = { 'gen_ai.usage.output_tokens': end.generatedTokens };
    span?.part(
      'decode',
      { begin: token, end: token + 1000 * generateSeconds },
      { 'rocmforge.choice': choice, ...tokens },
    );
  }
}

/** Records one choice. */
export class ChoiceRecord {
  readonly #begin = performance.now();
  readonly #token: (isFirst: boolean, seconds: number) => void;
  readonly #end: (end: TextEnd, begin: number) => void;
  /** The time of the last token; before the first, of the request. */
  #last: number;
  #isFirst = true;

  constructor(
    requested: number,
    token: (isFirst: boolean, seconds: number) => void,
    end: (end: TextEnd, begin: number) => void,
  ) {
    this.#last = requested;
    this.#token = token;
    this.#end = end;
  }

  /** A token was emitted. */
  token(): void {
    const now = performance.now();
    this.#token(this.#isFirst, (now - this.#last) / 1000);
    this.#isFirst = false;
    this.#last = now;
  }

  /** The choice has ended. */
  end(end: TextEnd): void {
    this.#end(end, this.#begin);
  }
}
