import { Option } from 'commander';
import type { GenerateOptions } from '../engine/generate-options.ts';
import type { Dialect, ReasoningOptions } from '../text/index.ts';
import { wholeNumber } from './options.ts';
import type { Output } from './output.ts';

/** Reasoning flags. */
export interface ReasoningFlags {
  readonly reasoning?: 'show' | 'hide' | 'off';
  readonly reasoningEffort?: string;
  readonly reasoningBudget?: number;
}

/** Options for whether and how a model reasons, and where that is shown. */
export function reasoningOptions(): Option[] {
  return [
    new Option(
      '--reasoning <what>',
      'show the model’s reasoning, hide it, or turn it off (default: show on a terminal)',
    ).choices(['show', 'hide', 'off']),
    new Option('--reasoning-effort <word>', 'reasoning effort, as a level that the template knows'),
    new Option('--reasoning-budget <tokens>', 'maximum tokens of reasoning before the answer').argParser(
      wholeNumber(0),
    ),
  ].map((option) => option.helpGroup('Generation:'));
}

/**
 * The library's options for the flags. A constrained answer starts immediately unless reasoning is requested: its few
 * tokens are for the answer.
 */
export function reasoningOf(
  flags: ReasoningFlags,
  of: { readonly options: GenerateOptions; readonly dialect: Dialect },
): ReasoningOptions | undefined {
  const { reasoning, reasoningEffort: effort, reasoningBudget: budget } = flags;
  const says = reasoning !== undefined || effort !== undefined || budget !== undefined;
  if (!says) return of.dialect.thinks && hasForm(of.options) ? { budget: 0 } : undefined;
  if (reasoning !== 'off' && effort === undefined && budget === undefined) return undefined;
  return { ...(reasoning === 'off' && { enabled: false }), effort, budget };
}

/** Whether the answer has to have a form: then it is data rather than text for people. */
export function hasForm({ schema, json, regex, choices, grammar }: GenerateOptions): boolean {
  return [schema, json || undefined, regex, choices, grammar].some((form) => form !== undefined);
}

/**
 * Prints reasoning, dimmed, to the same terminal as the answer, followed by a line break; to stderr if the answer goes
 * elsewhere. A pipe gets it only if requested.
 */
export class ReasoningWriter {
  readonly #output: Output;
  readonly #isShown: boolean;
  #isOpen = false;

  constructor(output: Output, flags: ReasoningFlags) {
    this.#output = output;
    this.#isShown =
      flags.reasoning === 'show' || (flags.reasoning === undefined && output.stdout.isTTY === true);
  }

  /** Writes a piece, and a line break before the first piece of the answer. */
  async write(reasoning: string, text: string): Promise<void> {
    if (!this.#isShown) return;
    if (reasoning !== '') {
      this.#isOpen = true;
      await this.#put(this.#output.styled('dim', reasoning, this.#stream));
    }
    if (text !== '') await this.close();
  }

  /** Ends the line of reasoning. */
  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#put('\n\n');
  }

  get #stream(): 'stdout' | 'stderr' {
    return this.#output.stdout.isTTY === true ? 'stdout' : 'stderr';
  }

  async #put(text: string): Promise<void> {
    if (this.#stream === 'stdout') await this.#output.write(text);
    else this.#output.stderr.write(text);
  }
}
