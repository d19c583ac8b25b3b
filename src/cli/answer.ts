import { setImmediate } from 'node:timers/promises';
import type { SampledToken } from '../runtime/jobs/sampled-token.ts';
import type { ChatChunk } from '../engine/chat-stream.ts';
import type { TextChunk, TextStream } from '../engine/text-stream.ts';
import type { Output } from './output.ts';
import { type AnswerFlags, AnswerWriter } from './answer-writer.ts';

/**
 * How an answer is printed to stdout: as text while it is generated, as one JSON object at the end, or as a stream of
 * JSON objects.
 */
export type AnswerForm = 'text' | 'json' | 'json-lines';

/** A complete answer. */
export interface Answer {
  readonly text: string;
  /** The reasoning before it; empty for a continued text. */
  readonly reasoning: string;
  readonly tokens: readonly SampledToken[];
  /** When the first token arrived, in seconds since the process started; undefined if none did. */
  readonly firstTokenSeconds: number | undefined;
}

/** Reads an answer to its end, printing it as it comes unless it is wanted as one object. */
export async function streamAnswer(
  stream: TextStream<TextChunk & Partial<ChatChunk>>,
  of: {
    readonly form: AnswerForm;
    readonly output: Output;
    readonly flags: AnswerFlags;
    readonly isMarkdown: boolean;
  },
): Promise<Answer> {
  const { form, output } = of;
  const writer = new AnswerWriter(output, of.flags, of.isMarkdown);
  let reasoning = '';
  let text = '';
  const tokens: SampledToken[] = [];
  let firstTokenSeconds: number | undefined;
  try {
    for await (const chunk of stream) {
      firstTokenSeconds ??= performance.now() / 1000;
      text += chunk.text;
      reasoning += chunk.reasoning ?? '';
      if (chunk.token) tokens.push(chunk.token);
      if (form === 'text') await writer.write(chunk.reasoning ?? '', chunk.text);
      else if (form === 'json-lines') await output.line(JSON.stringify(pieceOf(chunk)));
      // A device that computes on this thread would not let the event loop handle Ctrl-C and closed pipes.
      await setImmediate();
    }
  } finally {
    await writer.close();
  }
  return { text, reasoning, tokens, firstTokenSeconds };
}

function pieceOf({ text, reasoning, token }: TextChunk & Partial<ChatChunk>) {
  const thought = reasoning === undefined || reasoning === '' ? {} : { reasoning };
  return token?.logProbability === undefined
    ? { text, ...thought, id: token?.id }
    : { text, ...thought, ...token };
}
