import { Option } from 'commander';
import type { Output } from './output.ts';
import { type ReasoningFlags, ReasoningWriter } from './reasoning-options.ts';
import { TerminalMarkdown } from './terminal-markdown.ts';

/** How answers are shown. */
export interface AnswerFlags extends ReasoningFlags {
  readonly markdown?: boolean;
}

/** Whether Markdown is rendered. */
export function markdownOption(): Option {
  return new Option(
    '--no-markdown',
    'print answers as the model writes them (default: Markdown is rendered on a terminal with colours)',
  ).helpGroup('Generation:');
}

/** Writes an answer to stdout as it comes: reasoning first, and Markdown rendered on a terminal with colours. */
export class AnswerWriter {
  readonly #output: Output;
  readonly #thoughts: ReasoningWriter;
  readonly #markdown: TerminalMarkdown | undefined;
  #last = '';

  /** `isMarkdown` is false for text that is not: continued texts, and constrained ones. */
  constructor(output: Output, flags: AnswerFlags, isMarkdown: boolean) {
    this.#output = output;
    this.#thoughts = new ReasoningWriter(output, flags);
    const isRendered = isMarkdown && flags.markdown !== false && output.showsColours('stdout');
    this.#markdown = isRendered
      ? new TerminalMarkdown((style, text) => output.styled(style, text, 'stdout'))
      : undefined;
  }

  /** Writes a piece. */
  async write(reasoning: string, text: string): Promise<void> {
    await this.#thoughts.write(reasoning, text);
    if (text === '') return;
    this.#last = text;
    await this.#output.write(this.#markdown?.push(text) ?? text);
  }

  /** Writes what was held back, and ends the line. */
  async close(): Promise<void> {
    await this.#thoughts.close();
    const rest = this.#markdown?.end() ?? '';
    const ending = this.#last === '' || this.#last.endsWith('\n') ? '' : '\n';
    if (rest + ending !== '') await this.#output.write(rest + ending);
  }
}
