import type { TextEnd } from '../../engine/text-stream.ts';
import type { ChoiceEvent } from '../generation/choice-event.ts';
import type { StartedGeneration } from '../generation/run-task.ts';
import { sealReasoning } from '../generation/sealed-reasoning.ts';
import { freshId } from '../fresh-id.ts';

/** An event of Anthropic's streams. */
export interface MessageEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

interface TextBlock {
  readonly type: 'text';
  text: string;
}

interface ThinkingBlock {
  readonly type: 'thinking';
  /** What is shown of the reasoning. */
  thinking: string;
  /** The whole reasoning, for clients to send back. */
  signature: string;
}

interface ToolBlock {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  json: string;
  isWhole: boolean;
}

type Block = TextBlock | ThinkingBlock | ToolBlock;

/** Builds a message of Anthropic's API from a generation's events, and the events that stream it. */
export class MessageWriter {
  readonly #head: object;
  readonly #promptTokens: number;
  readonly #blocks: Block[] = [];
  /** Reasoning is not shown, only carried by signatures. */
  readonly #isOmitted: boolean;
  #reasoning = '';
  #end: { end: TextEnd; reasoningTokens: number; isCalling: boolean } | undefined;

  constructor({ id: model, promptTokens }: StartedGeneration, isOmitted = false) {
    const nothing = { container: null, stop_details: null };
    this.#head = { id: freshId('msg_'), type: 'message', role: 'assistant', model, ...nothing };
    this.#promptTokens = promptTokens;
    this.#isOmitted = isOmitted;
  }

  /** The first event of a stream. */
  start(): MessageEvent {
    const usage = { input_tokens: this.#promptTokens, output_tokens: 0 };
    const message = { ...this.#head, content: [], stop_reason: null, stop_sequence: null, usage };
    return { type: 'message_start', message };
  }

  /** The stream events for a generation's event. */
  *take(event: Exclude<ChoiceEvent, { kind: 'begin' }>): Generator<MessageEvent, void> {
    if (event.kind === 'prompt') return;
    if (event.kind === 'end') {
      const { end, reasoningTokens } = event;
      this.#end = { end, reasoningTokens, isCalling: event.finish === 'calls' };
      if (this.#blocks.length === 0) yield* this.#open({ type: 'text', text: '' });
      yield* this.#stop();
      yield { type: 'message_delta', delta: this.#ending(), usage: this.#usage() };
      yield { type: 'message_stop' };
    } else if (event.kind === 'text') {
      if (event.text === '') return;
      if (this.#blocks.at(-1)?.type !== 'text') yield* this.#open({ type: 'text', text: '' });
      (this.#blocks.at(-1) as TextBlock).text += event.text;
      yield this.#delta({ type: 'text_delta', text: event.text });
    } else if (event.kind === 'reasoning') {
      if (this.#blocks.at(-1)?.type !== 'thinking') {
        yield* this.#open({ type: 'thinking', thinking: '', signature: '' });
      }
      this.#reasoning += event.text;
      if (this.#isOmitted) return;
      (this.#blocks.at(-1) as ThinkingBlock).thinking += event.text;
      yield this.#delta({ type: 'thinking_delta', thinking: event.text });
    } else if (event.kind === 'call') {
      yield* this.#open({ type: 'tool_use', id: event.id, name: event.name, json: '', isWhole: false });
    } else if (event.kind === 'call-end') {
      (this.#blocks.at(-1) as ToolBlock).isWhole = event.outcome === 'whole';
    } else {
      (this.#blocks.at(-1) as ToolBlock).json += event.text;
      yield this.#delta({ type: 'input_json_delta', partial_json: event.text });
    }
  }

  /** The whole message, once the generation has ended. */
  message(): object {
    const content = this.#blocks.flatMap((block): object[] => {
      if (block.type !== 'tool_use') return [block];
      const { type, id, name, json, isWhole } = block;
      // A client could not execute a call without complete arguments.
      return isWhole ? [{ type, id, name, input: JSON.parse(json) as unknown }] : [];
    });
    return { ...this.#head, content, ...this.#ending(), usage: this.#usage() };
  }

  *#open(block: Block): Generator<MessageEvent, void> {
    if (this.#blocks.length > 0) yield* this.#stop();
    this.#blocks.push(block);
    const opened =
      block.type === 'tool_use'
        ? { type: block.type, id: block.id, name: block.name, input: {} }
        : { ...block };
    yield { type: 'content_block_start', index: this.#blocks.length - 1, content_block: opened };
  }

  #delta(delta: object): MessageEvent {
    return { type: 'content_block_delta', index: this.#blocks.length - 1, delta };
  }

  *#stop(): Generator<MessageEvent, void> {
    const block = this.#blocks.at(-1);
    if (block?.type === 'thinking') {
      block.signature = sealReasoning(this.#reasoning);
      this.#reasoning = '';
      yield this.#delta({ type: 'signature_delta', signature: block.signature });
    }
    yield { type: 'content_block_stop', index: this.#blocks.length - 1 };
  }

  #ending(): { stop_reason: string; stop_sequence: string | null } {
    const stop = this.#end?.end.stop;
    if (this.#end?.isCalling) return { stop_reason: 'tool_use', stop_sequence: null };
    if (stop !== undefined) return { stop_reason: 'stop_sequence', stop_sequence: stop };
    return {
      stop_reason: this.#end?.end.reason === 'length' ? 'max_tokens' : 'end_turn',
      stop_sequence: null,
    };
  }

  /** Anthropic counts cached tokens separately. */
  #usage(): object {
    const { cachedTokens = 0, generatedTokens = 0 } = this.#end?.end ?? {};
    return {
      input_tokens: this.#promptTokens - cachedTokens,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: cachedTokens,
      output_tokens: generatedTokens,
      output_tokens_details: { thinking_tokens: this.#end?.reasoningTokens ?? 0 },
    };
  }
}
