import type { SampledToken } from './jobs/sampled-token.ts';
import type { GenerationEnd, SequenceSink, TokenStream } from './sequence.ts';
import { TokenQueue } from './token-queue.ts';

/** A generation whose tokens go to a sink. The caller calls `leave` at the end, also after errors. */
export interface Generation {
  /** Tells that the reader took a token: a paused sequence may resume. */
  more(): void;
  /** Ends it after the tokens that were read, and tells the sink. */
  finish(): void;
  /** Releases everything; a generation that is still running ends. */
  leave(): void;
}

/** Unread tokens after which a sequence pauses. */
const QUEUED_TOKENS = 32;

/** Keeps tokens for their reader; the progress of the prompt is passed on at once. */
class SequenceQueue extends TokenQueue<SampledToken, GenerationEnd> implements SequenceSink {
  constructor(readonly progress: SequenceSink['progress']) {
    super(QUEUED_TOKENS);
  }
}

/** The tokens of a generation as a stream. It starts when the first is requested. */
export async function* tokenStream(
  begin: (sink: SequenceSink) => Generation,
  progress?: SequenceSink['progress'],
): TokenStream {
  const queue = new SequenceQueue(progress);
  const generation = begin(queue);
  try {
    for (;;) {
      const read = await queue.read();
      if ('end' in read) return read.end;
      generation.more();
      if (yield read.value) generation.finish();
    }
  } finally {
    generation.leave();
  }
}

/**
 * A generation that has to wait for something; `failed` is told if that fails. `give` gets it back when the generation
 * is left.
 */
export function generationAfter<T>(
  make: () => Promise<T>,
  begin: (made: T) => Generation,
  { failed, give }: { failed(error: unknown): void; give?(made: T): void },
): Generation {
  let generation: Generation | undefined;
  let isLeft = false;
  let giveBack = () => {};
  const start = async () => {
    const made = await make();
    if (isLeft) return give?.(made);
    giveBack = () => give?.(made);
    generation = begin(made);
  };
  start().catch(failed);
  return {
    more: () => generation?.more(),
    finish: () => generation?.finish(),
    leave: () => {
      isLeft = true;
      generation?.leave();
      giveBack();
    },
  };
}
