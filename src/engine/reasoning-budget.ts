import {
  AnswerParser,
  type ChatTool,
  type Dialect,
  StreamingDetokenizer,
  type TokenConstraint,
  type Tokenizer,
} from '../text/index.ts';

/** A character takes at most as many tokens as it has bytes. */
const MAX_CHARACTER_BYTES = 4;

/** What a reasoning budget applies to. */
export interface ReasoningBudgetOf {
  readonly tokenizer: Tokenizer;
  readonly dialect: Dialect;
  /** The prompt's end, which may have opened the reasoning block. */
  readonly prompt: string;
  /** The tools whose calls may end the reasoning. */
  readonly tools: readonly ChatTool[];
  /** Another constraint of the answer; the caller owns it. */
  readonly constraint: TokenConstraint | undefined;
}

/**
 * Ends an answer's reasoning after a number of tokens: from then on only the tokens that close it are allowed. A
 * character that spans several tokens is completed first. Reasoning that is opened again continues on the remaining
 * budget.
 */
export class ReasoningBudget implements TokenConstraint {
  readonly #inner: TokenConstraint | undefined;
  readonly #tokenizer: Tokenizer;
  readonly #parser: AnswerParser;
  readonly #detokenizer: StreamingDetokenizer;
  readonly #decoder = new TextDecoder();
  readonly #closing: readonly number[];
  #left: number;
  /** Tokens since the last whole character. */
  #unfinished = 0;
  /** The number of closing tokens that have come; undefined while the budget lasts. */
  #closed: number | undefined;

  constructor(budget: number, { tokenizer, dialect, prompt, tools, constraint }: ReasoningBudgetOf) {
    const { close, forced = close } = dialect.reasoning;
    this.#inner = constraint;
    this.#tokenizer = tokenizer;
    this.#left = budget;
    this.#parser = new AnswerParser(dialect, { prompt, tools });
    this.#detokenizer = new StreamingDetokenizer(tokenizer);
    this.#closing = tokenizer.encode(forced, { addSpecial: false, parseSpecial: true });
    this.#look();
  }

  async fill(mask: Int32Array): Promise<void> {
    const due = this.#closed === undefined ? undefined : this.#closing[this.#closed];
    if (due === undefined) {
      if (this.#inner) await this.#inner.fill(mask);
      else mask.fill(-1);
      return;
    }
    mask.fill(0);
    mask[due >> 5] = 1 << (due & 31);
  }

  accept(id: number): void {
    this.#inner?.accept(id);
    if (this.#parser.isReasoning) this.#left--;
    if (this.#tokenizer.isControl(id)) {
      const name = this.#decoder.decode(this.#tokenizer.tokenBytes(id));
      this.#parser.push(this.#detokenizer.flush());
      this.#parser.push(name, true);
      this.#unfinished = 0;
    } else {
      const text = this.#detokenizer.push(id);
      this.#unfinished = text === '' ? this.#unfinished + 1 : 0;
      this.#parser.push(text);
    }
    if (this.#closed !== undefined) this.#closed++;
    this.#look();
  }

  get isComplete(): boolean {
    return this.#inner?.isComplete ?? false;
  }

  [Symbol.dispose](): void {
    // The caller disposes the wrapped constraint.
  }

  /** Determines whether the reasoning has to be closed now. */
  #look(): void {
    if (this.#closed !== undefined && this.#closed < this.#closing.length) return;
    const isWhole = this.#unfinished === 0 || this.#unfinished >= MAX_CHARACTER_BYTES;
    this.#closed = this.#parser.isReasoning && this.#left <= 0 && isWhole ? 0 : undefined;
  }
}
