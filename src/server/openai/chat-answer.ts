import type { TextEnd } from '../../engine/text-stream.ts';
import type { CallOutcome, Tokenizer } from '../../text/index.ts';
import type { ChoiceEvent, FinishReason } from '../generation/choice-event.ts';
import { soleTimings } from '../generation/timings.ts';
import { type ContentLogprob, contentLogprob } from './logprobs.ts';
import { usageOf } from './usage.ts';

/** OpenAI's finish reasons. */
export const FINISH_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  length: 'length',
  calls: 'tool_calls',
};

/** The word for why a chat ended. */
export function finishReason(finish: FinishReason, isLegacy: boolean): string {
  return isLegacy && finish === 'calls' ? 'function_call' : FINISH_REASONS[finish];
}

interface ToolCall {
  readonly id: string;
  readonly name: string;
  arguments: string;
  outcome: CallOutcome;
}

interface AnswerChoice {
  text: string;
  reasoning: string;
  readonly calls: ToolCall[];
  readonly logprobs: ContentLogprob[];
  finish: FinishReason;
}

/** Collects the events of a chat's choices into the complete answer. */
export class ChatAnswer {
  readonly #tokenizer: Tokenizer;
  readonly #withLogprobs: boolean;
  /** Calls have the names that the API had before tools. */
  readonly #isLegacy: boolean;
  readonly #choices: AnswerChoice[] = [];
  readonly #ends: TextEnd[] = [];

  constructor(tokenizer: Tokenizer, of: { readonly withLogprobs: boolean; readonly isLegacy: boolean }) {
    this.#tokenizer = tokenizer;
    this.#withLogprobs = of.withLogprobs;
    this.#isLegacy = of.isLegacy;
  }

  add(event: Exclude<ChoiceEvent, { kind: 'begin' }>): void {
    if (event.kind === 'prompt') return;
    const choice = (this.#choices[event.choice] ??= {
      text: '',
      reasoning: '',
      calls: [],
      logprobs: [],
      finish: 'stop',
    });
    if (event.kind === 'text') {
      choice.text += event.text;
      if (event.token && this.#withLogprobs) {
        choice.logprobs.push(contentLogprob(this.#tokenizer, event.token));
      }
    } else if (event.kind === 'reasoning') choice.reasoning += event.text;
    else if (event.kind === 'call') {
      choice.calls.push({ id: event.id, name: event.name, arguments: '', outcome: 'cut' });
    } else if (event.kind === 'arguments') {
      (choice.calls[event.call] as ToolCall).arguments += event.text;
    } else if (event.kind === 'call-end') {
      (choice.calls[event.call] as ToolCall).outcome = event.outcome;
    } else {
      choice.finish = event.finish;
      this.#ends.push(event.end);
    }
  }

  /** `choices` and `usage` of the response. */
  finish(promptTokens: number): object {
    const choices = this.#choices.map((choice, index) => ({
      index,
      message: messageOf(choice, this.#isLegacy),
      logprobs: this.#withLogprobs ? { content: choice.logprobs, refusal: null } : null,
      finish_reason: finishReason(choice.finish, this.#isLegacy),
    }));
    return { choices, usage: usageOf(promptTokens, this.#ends), ...soleTimings(this.#ends) };
  }
}

/** The message of a choice, without incomplete calls, which a client could not execute. */
function messageOf({ text, reasoning, calls }: AnswerChoice, isLegacy: boolean): object {
  const message = {
    role: 'assistant',
    content: text,
    refusal: null,
    ...(reasoning !== '' && { reasoning_content: reasoning }),
  };
  if (calls.length === 0) return message;
  const whole = calls.filter(({ outcome }) => outcome === 'whole');
  const tool_calls = whole.map(({ id, name, arguments: written }) => ({
    id,
    type: 'function',
    function: { name, arguments: written },
  }));
  const incomplete = calls.flatMap(({ name, arguments: written, outcome }) =>
    outcome === 'whole' ? [] : [{ name, arguments: written, outcome }],
  );
  return {
    ...message,
    content: text === '' ? null : text,
    ...(whole.length > 0 && (isLegacy ? { function_call: tool_calls[0]?.function } : { tool_calls })),
    ...(incomplete.length > 0 && { incomplete_tool_calls: incomplete }),
  };
}
