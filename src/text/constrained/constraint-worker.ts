import { fail, invariant } from '../../base/errors.ts';
import { packError } from '../../base/sent-error.ts';
import type { GrammarMatcher } from '../../grammar/index.ts';
import { fillMask } from './constraint-maker.ts';
import type { ConstraintReply, ConstraintRequest, OpenedText } from './constraint-messages.ts';
import { FormCompiler } from './form-compiler.ts';
import type { VocabularyTable } from './vocabulary-table.ts';

/** The channel to the users of constraints. */
export interface ConstraintPort {
  post(message: unknown): void;
  onMessage(listener: (message: unknown) => void): void;
  /** The next message that was not delivered to a listener; undefined if there is none. */
  receive?(): unknown;
}

/** A vocabulary, and its compiler once a text is opened. */
interface Known {
  readonly table: VocabularyTable;
  compiler?: FormCompiler;
}

/**
 * Serves constraints, one request after another; but while a grammar is being compiled, which may take long, masks for
 * open texts are computed in between.
 */
export function runConstraintWorker(port: ConstraintPort): void {
  const vocabularies = new Map<number, Known>();
  const texts = new Map<number, { matcher: GrammarMatcher; mask: Int32Array }>();
  /** Messages that arrived during the current request. */
  const waiting: ConstraintRequest[] = [];

  const onCheck = (): void => {
    for (let request = port.receive?.(); request !== undefined; request = port.receive?.()) {
      const next = request as ConstraintRequest;
      if (next.kind === 'fill' && texts.has(next.text)) serve(next);
      else waiting.push(next);
    }
  };

  const open = ({ text, vocabulary, written, accepted, mask, cancelled }: OpenedText): void => {
    const signal = {
      get aborted() {
        return Atomics.load(cancelled, 0) !== 0;
      },
      reason: undefined,
    };
    if (signal.aborted) fail('ABORTED', { what: 'the grammar' });
    const known = vocabularies.get(vocabulary);
    invariant(known, 'a vocabulary is sent before its texts');
    known.compiler ??= new FormCompiler(known.table);
    const matcher = known.compiler.matcher(written, { signal, onCheck });
    for (const id of accepted) matcher.accept(id);
    texts.set(text, { matcher, mask });
  };

  const fill = (text: number, accepted: readonly number[]): boolean => {
    const known = texts.get(text);
    invariant(known, 'a text is opened before it goes on');
    for (const id of accepted) known.matcher.accept(id);
    fillMask(known.matcher, known.mask);
    return known.matcher.isComplete;
  };

  const serve = (request: ConstraintRequest): void => {
    if (request.kind === 'vocabulary') vocabularies.set(request.vocabulary, { table: request.table });
    else if (request.kind === 'forget') vocabularies.delete(request.vocabulary);
    else if (request.kind === 'close') texts.delete(request.text);
    else {
      const { call } = request;
      try {
        if (request.kind === 'open') open(request);
        const isComplete = request.kind === 'fill' && fill(request.text, request.accepted);
        port.post({ call, isComplete } satisfies ConstraintReply);
      } catch (error) {
        port.post({ call, isComplete: false, error: packError(error) } satisfies ConstraintReply);
      }
    }
  };

  port.onMessage((message) => {
    waiting.push(message as ConstraintRequest);
    for (let next = waiting.shift(); next; next = waiting.shift()) serve(next);
  });
}
