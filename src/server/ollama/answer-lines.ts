import type { TextEnd } from '../../engine/text-stream.ts';
import { json } from '../endpoint.ts';
import type { StreamEvent } from '../event-stream.ts';
import type { ChoiceEvent } from '../generation/choice-event.ts';
import { respondWithEvents } from '../generation/respond.ts';
import type { StartedGeneration } from '../generation/run-task.ts';
import { type ContentLogprob, contentLogprob } from '../openai/logprobs.ts';
import type { RequestContext } from '../request-context.ts';

/** A tool call in Ollama's format. */
interface OllamaCall {
  readonly function: { readonly name: string; readonly arguments: unknown };
}

/** The answer so far, or a piece of it. */
export interface OllamaPiece {
  text: string;
  thinking: string;
  calls: OllamaCall[];
  /** Of its tokens, if they were asked for. */
  logprobs: ContentLogprob[];
}

/** Nanoseconds per second: Ollama gives durations in nanoseconds. */
const NANOSECONDS = 1e9;

/** Converts a generation's events into Ollama's responses; `shape` adds the endpoint's own fields to a piece. */
export class AnswerLines {
  readonly #generation: StartedGeneration;
  readonly #shape: (piece: OllamaPiece) => object;
  /** When the request arrived. */
  #start = 0;
  #open: { name: string; arguments: string } | undefined;

  constructor(generation: StartedGeneration, shape: (piece: OllamaPiece) => object) {
    this.#generation = generation;
    this.#shape = shape;
  }

  /** The response: line by line, or as a whole. */
  async respond(call: RequestContext, isStreamed: boolean): Promise<Response> {
    this.#start = call.startedAt;
    if (isStreamed) return respondWithEvents(call, this.#generation, this.#lines());
    const whole = nothing();
    let end: TextEnd | undefined;
    for await (const event of this.#generation.events) {
      const piece = this.#piece(event);
      whole.text += piece?.text ?? '';
      whole.thinking += piece?.thinking ?? '';
      whole.calls.push(...(piece?.calls ?? []));
      whole.logprobs.push(...(piece?.logprobs ?? []));
      if (event.kind === 'end') ({ end } = event);
    }
    return json({ ...this.#head(), ...this.#shaped(whole), ...(end && this.#ending(end)) });
  }

  async *#lines(): AsyncGenerator<StreamEvent, void> {
    for await (const event of this.#generation.events) {
      const piece = this.#piece(event);
      const line = { ...this.#head(), ...this.#shaped(piece ?? nothing()) };
      if (event.kind === 'end') yield { data: JSON.stringify({ ...line, ...this.#ending(event.end) }) };
      else if (piece) yield { data: JSON.stringify({ ...line, done: false }) };
    }
  }

  /** The content of an event; calls are reported once complete. */
  #piece(event: Exclude<ChoiceEvent, { kind: 'begin' }>): OllamaPiece | undefined {
    if (event.kind === 'text') {
      const { token } = event;
      const isTold = token?.logProbability !== undefined;
      const logprobs = isTold ? [contentLogprob(this.#generation.model.tokenizer, token)] : [];
      return event.text === '' && !isTold ? undefined : { ...nothing(), text: event.text, logprobs };
    }
    if (event.kind === 'reasoning') return { ...nothing(), thinking: event.text };
    if (event.kind === 'call') this.#open = { name: event.name, arguments: '' };
    else if (event.kind === 'arguments' && this.#open) this.#open.arguments += event.text;
    else if (event.kind === 'call-end' && event.outcome === 'whole' && this.#open) {
      const { name, arguments: written } = this.#open;
      return { ...nothing(), calls: [{ function: { name, arguments: JSON.parse(written) as unknown } }] };
    }
    return undefined;
  }

  #shaped(piece: OllamaPiece): object {
    const { logprobs } = piece;
    return { ...this.#shape(piece), ...(logprobs.length > 0 && { logprobs }) };
  }

  #head(): object {
    return { model: this.#generation.id, created_at: new Date().toISOString() };
  }

  #ending({ reason, promptSeconds, generateSeconds, generatedTokens }: TextEnd): object {
    return {
      done: true,
      done_reason: reason,
      total_duration: Math.round((performance.now() - this.#start) * 1e6),
      load_duration: Math.round(this.#generation.loadSeconds * NANOSECONDS),
      prompt_eval_count: this.#generation.promptTokens,
      prompt_eval_duration: Math.round(promptSeconds * NANOSECONDS),
      eval_count: generatedTokens,
      eval_duration: Math.round(generateSeconds * NANOSECONDS),
    };
  }
}

function nothing(): OllamaPiece {
  return { text: '', thinking: '', calls: [], logprobs: [] };
}
