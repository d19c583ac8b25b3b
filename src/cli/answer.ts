import { setImmediate } from 'node:timers/promises';
import type { SampledToken } from '../engine/sampled-token.ts';
import type { TextChunk, TextStream } from '../engine/text-stream.ts';
import type { Output } from './output.ts';

/** How an answer goes to stdout: as it comes, as one JSON object at the end, or as a JSON object a piece. */
export type AnswerForm = 'text' | 'json' | 'json-lines';

/** A complete answer. */
export interface Answer {
  readonly text: string;
  readonly tokens: readonly SampledToken[];
  /** When the first token came, in seconds since the process began; undefined where none did. */
  readonly firstTokenSeconds: number | undefined;
}

/** Reads an answer to its end, writing it as it comes unless it is wanted as one object. */
export async function streamAnswer(stream: TextStream, form: AnswerForm, output: Output): Promise<Answer> {
  let text = '';
  const tokens: SampledToken[] = [];
  let firstTokenSeconds: number | undefined;
  try {
    for await (const chunk of stream) {
      firstTokenSeconds ??= performance.now() / 1000;
      text += chunk.text;
      if (chunk.token) tokens.push(chunk.token);
      if (form === 'text') await output.write(chunk.text);
      else if (form === 'json-lines') await output.line(JSON.stringify(pieceOf(chunk)));
      // A device that computes on this thread would leave no turn for Ctrl-C and closed pipes.
      await setImmediate();
    }
  } finally {
    if (form === 'text' && text !== '' && !text.endsWith('\n')) await output.line();
  }
  return { text, tokens, firstTokenSeconds };
}

function pieceOf({ text, token }: TextChunk) {
  return token?.logProbability === undefined ? { text, id: token?.id } : { text, ...token };
}
