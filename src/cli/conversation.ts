import { InvalidArgumentError, type Option } from 'commander';
import { fail } from '../base/errors.ts';
import { ChatSession, type SavedSession, type SessionStream } from '../engine/chat-session.ts';
import type { LanguageModel } from '../engine/language-model.ts';
import type { AnswerFlags } from './answer-writer.ts';
import type { CommandContext } from './command.ts';
import { type LoadedModel, loadFromFlags } from './load.ts';
import { conflictsOf, type DeviceFlags, type ModelFlags } from './options.ts';
import { hasForm, reasoningOf, reasoningOptions } from './reasoning-options.ts';
import { generateOptions, type SamplingFlags, samplingOptions } from './sampling-options.ts';
import type { TemplateFlags } from './template-options.ts';
import type { SystemFlags } from './text-files.ts';

/** What a conversation in the terminal is started with. */
export interface ConversationFlags
  extends ModelFlags, DeviceFlags, SamplingFlags, AnswerFlags, TemplateFlags, SystemFlags {}

/** The values of the options that can be changed between two answers. */
type Settings = Readonly<Record<string, unknown>>;

/**
 * A conversation in the terminal: a session with a model, both of which can be replaced, and the options of its answers, which
 * can be changed. Disposes the model.
 */
export class Conversation implements AsyncDisposable {
  readonly #context: CommandContext;
  #flags: ConversationFlags;
  #loaded: LoadedModel | undefined;
  #session: ChatSession;

  private constructor(flags: ConversationFlags, context: CommandContext, loaded: LoadedModel) {
    this.#context = context;
    this.#flags = flags;
    this.#loaded = loaded;
    this.#session = new ChatSession(loaded.model, { system: flags.system });
  }

  /** Loads the model that the flags name. Rejects as `loadFromFlags`, and for a model without a chat template. */
  static async open(flags: ConversationFlags, context: CommandContext): Promise<Conversation> {
    // Options that cannot be meant are refused before a model is loaded.
    generateOptions(flags, context.signal);
    return new Conversation(flags, context, await loadForChat(flags, context));
  }

  get session(): ChatSession {
    return this.#session;
  }

  get model(): LanguageModel {
    return this.#here.model;
  }

  get flags(): AnswerFlags {
    return this.#flags;
  }

  /** Whether answers are text for people. */
  get isMarkdown(): boolean {
    return !hasForm(generateOptions(this.#flags, this.#context.signal));
  }

  /** Answers a message. Rejects as `ChatSession.ask`. */
  ask(text: string, signal: AbortSignal): SessionStream {
    return this.#session.ask(text, this.#answerOptions(signal));
  }

  /** Answers the last question again. Rejects as `ChatSession.regenerate`. */
  regenerate(signal: AbortSignal): SessionStream {
    return this.#session.regenerate(this.#answerOptions(signal));
  }

  /** Continues a saved conversation. Throws `INVALID_ARGUMENT` for what is none. */
  load(saved: SavedSession): void {
    this.#session = ChatSession.load(this.model, saved);
  }

  /** The options of answers that have a value, by the names for `set`. */
  settings(): readonly (readonly [name: string, value: unknown])[] {
    const flags = this.#flags as Settings;
    return settableOptions().flatMap((option) => {
      const value = flags[option.attributeName()];
      return value === undefined ? [] : [[nameOf(option), value] as const];
    });
  }

  /** Gives an option of answers a value, or its default again without one. Throws `INVALID_ARGUMENT`. */
  set(name: string, text: string | undefined): void {
    const options = settableOptions();
    const option = options.find((one) => nameOf(one) === name);
    if (!option) {
      const expected = `one of ${options.map(nameOf).join(', ')}`;
      return fail('INVALID_ARGUMENT', { name: '/set', found: name, expected });
    }
    const value = text === undefined ? undefined : valueOf(option, text);
    const changed = { ...this.#flags, ...otherwise(options, option), [option.attributeName()]: value };
    generateOptions(changed, this.#context.signal);
    this.#flags = changed;
  }

  /**
   * Continues with another model. This one is given up first, because there may not be memory for two; if the other cannot be
   * loaded, it is loaded again. Rejects as `open`.
   */
  async changeModel(location: string): Promise<void> {
    const { model: before } = this.#flags;
    const saved = this.#session.save();
    await this.#here.tell();
    await this.#give();
    try {
      await this.#take(location);
    } catch (error) {
      this.#context.signal.throwIfAborted();
      await this.#take(before);
      throw error;
    } finally {
      if (this.#loaded) this.load(saved);
    }
  }

  /** Writes what the flags ask for at the end of the work. */
  async tell(): Promise<void> {
    await this.#loaded?.tell();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#give();
  }

  get #here(): LoadedModel {
    return this.#loaded ?? fail('DISPOSED', { what: 'model' });
  }

  async #take(model: string | undefined): Promise<void> {
    const { model: _, ...rest } = this.#flags;
    const flags = model === undefined ? rest : { ...rest, model };
    this.#loaded = await loadForChat(flags, this.#context);
    this.#flags = flags;
  }

  async #give(): Promise<void> {
    const loaded = this.#loaded;
    this.#loaded = undefined;
    await loaded?.model.dispose();
  }

  #answerOptions(stop: AbortSignal) {
    const { signal } = this.#context;
    const options = generateOptions(this.#flags, AbortSignal.any([stop, signal]));
    return { ...options, reasoning: reasoningOf(this.#flags, { options, dialect: this.model.dialect }) };
  }
}

/** A model without a template is refused before the first question. */
async function loadForChat(flags: ConversationFlags, context: CommandContext): Promise<LoadedModel> {
  const loaded = await loadFromFlags(flags, context);
  try {
    void loaded.model.chatTemplate;
    return loaded;
  } catch (error) {
    await loaded.model.dispose();
    throw error;
  }
}

function settableOptions(): Option[] {
  return [...samplingOptions(), ...reasoningOptions()];
}

function nameOf(option: Option): string {
  return option.name();
}

/** Options that exclude one another: the later one counts. */
function otherwise(options: readonly Option[], set: Option): Settings {
  const excluded = options.filter(
    (option) =>
      conflictsOf(set).includes(option.attributeName()) || conflictsOf(option).includes(set.attributeName()),
  );
  return Object.fromEntries(excluded.map((option) => [option.attributeName(), undefined]));
}

function valueOf(option: Option, text: string): unknown {
  if (option.isBoolean()) {
    const value = { on: true, off: undefined }[text];
    if (value === undefined && text !== 'off') {
      fail('INVALID_ARGUMENT', { name: nameOf(option), found: text, expected: 'on or off' });
    }
    return value;
  }
  try {
    // Repeatable options get one value.
    return option.parseArg
      ? (option.parseArg as (given: string, before: undefined) => unknown)(text, undefined)
      : text;
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    const expected = error.message.replace(/^Expected |\.$/g, '');
    return fail('INVALID_ARGUMENT', { name: nameOf(option), found: text, expected }, error);
  }
}
