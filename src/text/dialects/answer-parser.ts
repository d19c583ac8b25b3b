import type { ChatTool } from '../chat-message.ts';
import type { AnswerPart } from './answer-part.ts';
import { AnswerWriter } from './answer-writer.ts';
import { type AnswerContext, type Dialect, openingOf } from './dialect.ts';
import { Parameters } from './parameters.ts';
import { readAnswer } from './read-answer.ts';
import { type Reading, Scanner } from './scanner.ts';

/** The context of an answer. */
export interface AnswerParserOptions {
  /** The tools that the answer may call; without any, calls are not parsed. */
  readonly tools?: readonly ChatTool[];
  /** The prompt, or its end: it may have opened the reasoning, or begun the answer. */
  readonly prompt?: string;
}

/**
 * Parses an answer while it is generated into reasoning, text, and calls with their arguments as JSON. Each part is
 * emitted as soon as it is certain; the parts depend on the text alone, not on how it was split.
 */
export class AnswerParser {
  readonly #scanner = new Scanner();
  readonly #writer: AnswerWriter;
  readonly #reading: Reading<void>;
  #isReasoning = false;

  constructor(dialect: Dialect, { tools = [], prompt = '' }: AnswerParserOptions = {}) {
    this.#writer = new AnswerWriter(tools.length > 0);
    const context = this.#contextOf(new Map(tools.map((tool) => [tool.function.name, Parameters.of(tool)])));
    this.#reading = (dialect.read ?? readAnswer)(context, dialect);
    const opening = openingOf(dialect, prompt);
    if (opening !== '') this.push(opening);
  }

  /** Number of calls that were begun. */
  get calls(): number {
    return this.#writer.calls;
  }

  /** True inside the reasoning, as far as the text is decided. */
  get isReasoning(): boolean {
    return this.#isReasoning;
  }

  /** The parts that this text completes; a control token is visible only to the dialect. */
  push(text: string, isControl = false): AnswerPart[] {
    this.#scanner.push(text, isControl);
    this.#reading.next();
    return this.#writer.take();
  }

  /** The parts that the end of the text completes; `isCut` if a limit ended it. */
  end(isCut = false): AnswerPart[] {
    this.#scanner.end(isCut);
    this.#reading.next();
    this.#writer.close();
    return this.#writer.take();
  }

  /** Emitted text need not be read again. */
  #write(kind: 'reasoning' | 'text', text: string): void {
    this.#writer.write(kind, text);
    this.#scanner.forget();
  }

  #contextOf(tools: ReadonlyMap<string, Parameters>): AnswerContext {
    const writer = this.#writer;
    let wasUnknown = false;
    return {
      scanner: this.#scanner,
      tools,
      beginCall: (name, id) => {
        wasUnknown = !tools.has(name);
        if (wasUnknown) writer.fault({ kind: 'fault', fault: 'unknown-tool', name });
        else writer.begin(name, id);
        return !wasUnknown;
      },
      emitArguments: (text) => {
        writer.give(text);
        this.#scanner.forget();
      },
      endCall: (outcome, id) => writer.end(outcome, id),
      emitReasoning: (text) => this.#write('reasoning', text),
      emitText: (text) => this.#write('text', text),
      markReasoning: (isReasoning) => {
        this.#isReasoning = isReasoning;
        writer.mark();
      },
      reportFault: (fault) => {
        if (!wasUnknown) writer.fault({ kind: 'fault', fault });
        wasUnknown = false;
      },
      reportUnknownTool: (name, text) => writer.fault({ kind: 'fault', fault: 'unknown-tool', name, text }),
    };
  }
}
