import type { ChatMessage } from '../chat-message.ts';
import type { AnswerPart, CallOutcome } from './answer-part.ts';
import { newCallId } from './call-id.ts';

/** A call without complete arguments: it was cut off, or the model wrote something else. */
export interface IncompleteCall {
  readonly name: string;
  /** The arguments so far: the beginning of a JSON object. */
  readonly arguments: string;
  readonly outcome: Exclude<CallOutcome, 'whole'>;
}

/** A whole answer, in the form of a message that can be sent back. */
export interface AnswerMessage extends ChatMessage {
  readonly role: 'assistant';
  /** The answer without its reasoning. */
  readonly content: string;
  readonly reasoning_content?: string;
  /** Complete calls only; the arguments are JSON text. */
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly type: 'function';
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
  /** Calls that cannot be executed. */
  readonly incomplete_tool_calls?: readonly IncompleteCall[];
}

interface MessageCall {
  readonly name: string;
  id: string | undefined;
  arguments: string;
  outcome: CallOutcome;
}

/** Collects the parts of an answer into a message. */
export class AnswerCollector {
  #text = '';
  #reasoning = '';
  readonly #calls: MessageCall[] = [];

  add(part: AnswerPart): void {
    if (part.kind === 'text') this.#text += part.text;
    else if (part.kind === 'reasoning') this.#reasoning += part.text;
    else if (part.kind === 'call') {
      this.#calls.push({ name: part.name, id: part.id, arguments: '', outcome: 'cut' });
    } else if (part.kind !== 'fault') {
      const call = this.#calls[part.call] as MessageCall;
      if (part.kind === 'arguments') call.arguments += part.text;
      else {
        call.outcome = part.outcome;
        call.id ??= part.id;
      }
    }
  }

  /** The message; calls without an id of the model get a new one of this length. */
  message(idLength?: number): AnswerMessage {
    const whole = this.#calls.filter(({ outcome }) => outcome === 'whole');
    const incomplete = this.#calls.flatMap(({ name, arguments: written, outcome }) =>
      outcome === 'whole' ? [] : [{ name, arguments: written, outcome }],
    );
    const tool_calls = whole.map(({ id, name, arguments: written }) => ({
      id: id ?? newCallId(idLength),
      type: 'function' as const,
      function: { name, arguments: written },
    }));
    return {
      role: 'assistant',
      content: this.#text,
      ...(this.#reasoning !== '' && { reasoning_content: this.#reasoning }),
      ...(tool_calls.length > 0 && { tool_calls }),
      ...(incomplete.length > 0 && { incomplete_tool_calls: incomplete }),
    };
  }
}
