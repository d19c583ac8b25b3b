import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Attachment } from '../attachments/read-attachment.ts';
import type { Toolbox } from '../tools/toolbox.ts';
import type { PageTool } from '../tools/tools.ts';
import { objectIn } from '../json-object.ts';
import { TEXTS } from '../texts.ts';
import {
  type AnswerStream,
  freshId,
  type ToolCall,
  type Turn,
  type WaitingMessage,
  type WholeConversation,
} from './chat-store.ts';
import {
  contentOf,
  type fittingMessages,
  sentCharacters,
  steppedMessages,
  TOKENS_PER_CHARACTER,
  type WindowTerms,
} from './context-window.ts';
import {
  type AnswerEnd,
  type AnswerEvent,
  AnswerGone,
  type ChatEngine,
  ContextFull,
  NO_REASONING,
  type ReasoningWish,
  samplingOf,
} from './engine.ts';
import { keepDraft, keptDraft } from './drafts.ts';
import { explain } from './explain.ts';
import { Meter } from './meter.ts';
import type { SettingValues } from './settings.ts';
import { type SentConversation, summarize, summarizedMessages } from './summary.ts';
import { hold } from './tab-lock.ts';
import { modelTitle, wordsTitle } from './title.ts';
import { grownCalls, settledCall } from './tool-calls.ts';
import { type Keep, TurnTree } from './turn-tree.ts';

/** How often a conversation is sent with more left out, if the count of its tokens was guessed too low. */
const MOST_TRIES = 4;
/** The guess grows by this beyond what the model counted. */
const MARGIN = 1.1;

/** Answers in a row that call functions; the model would go on for ever otherwise. */
const MOST_STEPS = 16;

/** How far the prompt of the answer that is to come has been computed. */
export interface PromptShare {
  readonly tokens: number;
  readonly totalTokens: number;
}

/** A call that waits for the person. */
export interface Consent {
  /** The call's. */
  readonly id: string;
  /** What the person is asked. */
  readonly ask: string;
  readonly answer: (isAllowed: boolean) => void;
}

/** What a conversation is had with. */
export interface ConversationMeans {
  readonly settings: Signal<SettingValues>;
  readonly toolbox: Toolbox;
}

/** A conversation: its turns in branches, the answer being generated, and the messages that wait for its end. */
export class Conversation extends TurnTree {
  readonly answering = signal(false);
  readonly prompt = signal<PromptShare | undefined>(undefined);
  /** The call that waits for the person, and what tells whether it may run. */
  readonly consent = signal<Consent | undefined>(undefined);
  /** What is being written, and the files that go with it. */
  readonly draft: Signal<string>;
  readonly attached = signal<readonly Attachment[]>([]);
  /** Turns at the beginning that the last answer did not see, and what it was told of them. */
  readonly leftOut: ReadonlySignal<number>;
  readonly summary: ReadonlySignal<string | undefined>;
  /** What the answer waits for: a summary of the beginning, or a connection that was lost. */
  readonly waits = signal<'summary' | 'connection' | undefined>(undefined);
  readonly #settings: Signal<SettingValues>;
  readonly #toolbox: Toolbox;
  #tokensPerCharacter: number | undefined;
  #stopping: AbortController | undefined;
  /** Whether what answers can do so while the person is elsewhere. */
  #goesOn = false;
  /** The message that the answer was stopped for, and what answers those that wait: another model may have been chosen. */
  #next: string | undefined;
  #nextBy: ChatEngine | undefined;
  /** Ends the writing of a title. */
  #titling: AbortController | undefined;

  constructor(whole: WholeConversation, { settings, toolbox }: ConversationMeans, keep: Keep) {
    super(whole, keep);
    const { info, turns } = whole;
    this.#settings = settings;
    this.#toolbox = toolbox;
    this.draft = signal(keptDraft(turns.length === 0 ? '' : info.id));
    const answer = computed(() => this.turns.value.findLast(({ role }) => role === 'assistant'));
    this.leftOut = computed(() =>
      Math.max(
        0,
        this.turns.value.findIndex(({ id }) => id === answer.value?.begin),
      ),
    );
    this.summary = computed(() => answer.value?.summary?.text);
  }

  /** While an answer is written here, what a person changes without it alone. */
  override takeOver(whole: WholeConversation): void {
    const { title, titledBy, system, pinned } = whole.info;
    if (this.answering.value) this.changeInfo({ title, titledBy, system, pinned });
    else super.takeOver(whole);
  }

  /**
   * Sends a message with what is attached and generates the answer; while another one is written, the message waits for its end.
   * Never rejects: the answer records a failure.
   */
  async send(engine: ChatEngine, text: string): Promise<void> {
    const attachments = this.attached.value;
    this.attached.value = [];
    const said = attachments.length > 0 ? { text, attachments } : { text };
    if (this.answering.value) {
      this.#nextBy = engine;
      this.changeInfo({ waiting: [...this.waiting, { id: freshId(), ...said }] });
      this.save([]);
      return;
    }
    if (this.turns.value.length === 0 && this.info.value.titledBy === 'words')
      this.changeInfo({ title: wordsTitle(said) });
    await this.#ask(engine, said, this.info.value.leaf);
  }

  /** Messages that are sent when the answer has ended, if it was not stopped. */
  get waiting(): readonly WaitingMessage[] {
    return this.info.value.waiting ?? [];
  }

  /** Sends a message that waits before the others; an answer that is being written is stopped for it. */
  async sendNow(engine: ChatEngine, { id, ...said }: WaitingMessage): Promise<void> {
    if (this.answering.value) {
      this.#next = id;
      this.#nextBy = engine;
      return this.stop();
    }
    this.removeWaiting(id);
    await this.#ask(engine, said, this.info.value.leaf);
  }

  /** Makes a message that waits the one that is being written. */
  takeBack({ id, text, attachments = [] }: WaitingMessage): void {
    this.removeWaiting(id);
    this.attached.value = [...attachments, ...this.attached.value];
    this.write([text, this.draft.value].filter((part) => part !== '').join('\n\n'));
  }

  removeWaiting(id: string): void {
    const others = this.waiting.filter((of) => of.id !== id);
    this.changeInfo({ waiting: others.length > 0 ? others : undefined });
    this.save([]);
  }

  /** Changes what is being written, and keeps it. */
  write(text: string): void {
    this.draft.value = text;
    keepDraft(this.turns.value.length === 0 ? '' : this.info.value.id, text);
  }

  /** Sends another text in place of a question's, as a branch of its own. */
  async resend(engine: ChatEngine, { parent, attachments }: Turn, text: string): Promise<void> {
    await this.#ask(engine, { text, attachments }, parent);
  }

  /** About how many tokens of the context files take: as many a character as were counted in this conversation. */
  tokensOf(attachments: readonly Attachment[]): number {
    const { length } = contentOf({ text: '', attachments });
    return Math.ceil(length * (this.#tokensPerCharacter ?? TOKENS_PER_CHARACTER));
  }

  /** Generates another answer beside this one. */
  async retry(engine: ChatEngine, { parent }: Turn): Promise<void> {
    if (this.answering.value) return;
    this.changeInfo({ leaf: parent });
    await this.#answer(engine, {});
  }

  /** Goes on with an answer where it ended. */
  async continue(engine: ChatEngine, begun: Turn): Promise<void> {
    if (this.answering.value) return;
    this.changeInfo({ leaf: begun.id });
    await this.#answer(engine, { begun });
  }

  /** Takes up an answer that went on at the server while this page was away, if there is one. */
  async resume(engine: ChatEngine): Promise<void> {
    const begun = this.turns.value.at(-1);
    const isThere = begun?.stream !== undefined && begun.model === engine.title && engine.resume;
    if (isThere && !this.answering.value) await this.#answer(engine, { begun, resumed: begun.stream });
  }

  /** Writes another text in place of an answer's, as a branch of its own. */
  rewrite(turn: Turn, text: string): void {
    const written = this.add({ ...turn, text, state: 'done', error: undefined });
    this.save([written]);
  }

  /** Stops generating the answer, or the title. */
  stop(): void {
    this.#stopping?.abort();
    this.#titling?.abort();
  }

  /** Stops what it would keep from other conversations, and tells whether an answer is still being written. */
  leave(): boolean {
    const goesOn = this.answering.value && this.#goesOn;
    if (!goesOn) this.stop();
    return goesOn;
  }

  override forget(): void {
    super.forget();
    this.stop();
  }

  async #ask(
    engine: ChatEngine,
    said: Pick<Turn, 'text' | 'attachments'>,
    parent: string | undefined,
  ): Promise<void> {
    if (this.answering.value) return;
    this.#say(said, parent);
    await this.#answer(engine, {});
  }

  #say(said: Pick<Turn, 'text' | 'attachments'>, parent: string | undefined): void {
    this.changeInfo({ leaf: parent });
    this.save([this.add({ parent, role: 'user', ...said, state: 'done' })]);
  }

  /** Generates an answer to the branch that is shown, or goes on with its last one, and then answers the messages that wait. */
  async #answer(engine: ChatEngine, of: Beginning): Promise<void> {
    this.#titling?.abort();
    this.answering.value = true;
    this.#stopping = new AbortController();
    this.#nextBy = undefined;
    let by = engine;
    const release = await hold(`conversation ${this.info.value.id}`);
    try {
      // It is another tab's, which writes it on.
      if (of.resumed && !release) return;
      await this.#answerAll(by, of, this.#stopping.signal);
      for (let next = this.#nextWaiting(); next; next = this.#nextWaiting()) {
        const { id, ...said } = next;
        by = this.#nextBy ?? by;
        this.removeWaiting(id);
        this.#say(said, this.info.value.leaf);
        this.#stopping = new AbortController();
        await this.#answerAll(by, {}, this.#stopping.signal);
      }
    } finally {
      this.answering.value = false;
      release?.();
    }
    void this.#title(by);
  }

  /** Generates an answer, and again after calls of functions. */
  async #answerAll(engine: ChatEngine, of: Beginning, signal: AbortSignal): Promise<void> {
    this.#goesOn = engine.place === 'server';
    let goesOn = await this.#answerOnce(engine, of, signal);
    for (let step = 1; goesOn && step < MOST_STEPS; step++)
      goesOn = await this.#answerOnce(engine, {}, signal);
    const last = this.turns.value.at(-1);
    if (goesOn && last) this.#fail(last.id, new Error(TEXTS.call.tooMany));
  }

  /** The message that is sent after an answer: the one that it was stopped for, or the first, if the answer has ended by itself. */
  #nextWaiting(): WaitingMessage | undefined {
    const wanted = this.#next;
    this.#next = undefined;
    if (this.isRemoved) return undefined;
    if (wanted !== undefined) return this.waiting.find(({ id }) => id === wanted);
    return this.turns.value.at(-1)?.state === 'done' ? this.waiting[0] : undefined;
  }

  /** Lets the model write the title, if that is wanted. Never rejects. */
  async #title(engine: ChatEngine): Promise<void> {
    const isAllowed = this.#settings.value.titles === 'model' && this.info.value.titledBy === 'words';
    if (!isAllowed) return;
    const titling = new AbortController();
    this.#titling = titling;
    const title = await modelTitle(engine, this.turns.value, titling.signal);
    // The person may have been quicker.
    if (title !== undefined && this.info.value.titledBy === 'words')
      this.change({ title, titledBy: 'model' });
  }

  /** Generates one answer and runs what it calls; whether it has the results to go on with. */
  async #answerOnce(
    engine: ChatEngine,
    { begun, resumed }: Beginning,
    signal: AbortSignal,
  ): Promise<boolean> {
    const asked = this.turns.value;
    const parent = this.info.value.leaf;
    const answer = begun ?? this.add({ parent, role: 'assistant', text: '', state: 'writing' });
    const stream = resumed ?? (engine.resume && streamOf(answer));
    const { title: model } = engine;
    this.changeTurn(answer.id, { state: 'writing', error: undefined, reason: undefined, model, stream });
    // At once: where it can be read again has to be known when the page ends before there is a word.
    this.saveTurn(answer.id);
    const saving = setInterval(() => this.saveTurn(answer.id), SAVE_MILLISECONDS);
    try {
      const tools = await this.#toolbox.tools(signal);
      const of = { id: answer.id, asked, begun, tools, stream, signal };
      const end = await (resumed ? this.#readOn(engine, of, resumed) : this.#write(engine, of));
      const usedTokens = end.promptTokens + end.generatedTokens;
      const isFull = engine.context !== undefined && usedTokens >= engine.context - 1;
      const reason = end.reason === 'stop' ? 'stop' : isFull ? 'context' : 'limit';
      this.changeTurn(answer.id, { state: 'done', reason, usedTokens });
      return await this.#runCalls(answer.id, tools, signal);
    } catch (error) {
      if (signal.aborted || error instanceof AnswerGone) this.changeTurn(answer.id, { state: 'stopped' });
      else this.#fail(answer.id, error);
      return false;
    } finally {
      clearInterval(saving);
      this.prompt.value = undefined;
      this.waits.value = undefined;
      this.changeTurn(answer.id, { stream: undefined });
      this.#settleCalls(answer.id);
      this.changeInfo({ changed: Date.now() });
      this.saveTurn(answer.id);
    }
  }

  #fail(id: string, error: unknown): void {
    this.changeTurn(id, { state: 'failed', error: explain(error) });
    this.saveTurn(id);
  }

  /** Runs what an answer calls, one after the other, as far as the person allows; false if it calls nothing. */
  async #runCalls(id: string, tools: readonly PageTool[], signal: AbortSignal): Promise<boolean> {
    const calls = this.turn(id)?.calls ?? [];
    for (const { id: call, name, arguments: written } of calls) {
      const tool = tools.find(({ definition }) => definition.function.name === name);
      if (!tool) {
        this.#changeCall(id, call, { state: 'failed', result: TEXTS.call.unknown(name) });
        continue;
      }
      this.#changeCall(id, call, { state: 'asked' });
      // It may wait for long.
      this.saveTurn(id);
      if (!(await this.#consentTo(call, tool.ask, signal))) {
        this.#changeCall(id, call, { state: 'refused', result: TEXTS.call.refused });
        continue;
      }
      this.#changeCall(id, call, { state: 'running' });
      const { isFailed, text } = await tool.call(written, signal);
      this.#changeCall(id, call, { state: isFailed ? 'failed' : 'done', result: text });
    }
    return calls.length > 0;
  }

  /** Rejects when the answer is stopped. */
  async #consentTo(id: string, ask: string, signal: AbortSignal): Promise<boolean> {
    try {
      return await new Promise<boolean>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(asError(signal.reason)), { once: true });
        this.consent.value = { id, ask, answer: resolve };
      });
    } finally {
      this.consent.value = undefined;
    }
  }

  /** What was not run before the end will not be. */
  #settleCalls(id: string): void {
    const turn = this.turn(id);
    if (turn?.calls) this.changeTurn(id, { calls: turn.calls.map(settledCall) });
  }

  #changeCall(id: string, call: string, changed: Partial<ToolCall>): void {
    const calls = this.turn(id)?.calls ?? [];
    this.changeTurn(id, { calls: calls.map((of) => (of.id === call ? { ...of, ...changed } : of)) });
  }

  /** Sends the conversation, with more left out where it turns out to be too long. */
  async #write(engine: ChatEngine, of: Writing): Promise<AnswerEnd> {
    let { context } = engine;
    const system = (this.info.value.system ?? this.#settings.value.system).trim();
    for (let tries = 1; ; tries++) {
      const isOpen = this.#settings.value.whenFull === 'ask';
      const terms = {
        system,
        context: isOpen ? undefined : context,
        tokensPerCharacter: this.#tokensPerCharacter,
      };
      const { messages, leftOut, summary } = await this.#fitting(engine, of, terms);
      this.changeTurn(of.id, { begin: leftOut > 0 ? of.asked[leftOut]?.id : undefined, summary });
      try {
        const end = await this.#read(engine, of, messages);
        if (end.promptTokens > 0) this.#tokensPerCharacter = end.promptTokens / sentCharacters(messages);
        return end;
      } catch (error) {
        if (!(error instanceof ContextFull) || isOpen || tries === MOST_TRIES) throw error;
        context ??= error.context;
        this.#tokensPerCharacter = (MARGIN ** tries * error.tokens) / sentCharacters(messages);
      }
    }
  }

  /** What of the conversation is sent: of one that is too long without its beginning, which is told in short if that is wanted. */
  async #fitting(
    engine: ChatEngine,
    { asked, signal }: Writing,
    terms: WindowTerms,
  ): Promise<SentConversation> {
    if (this.#settings.value.whenFull !== 'summarize') return steppedMessages(asked, terms);
    return summarizedMessages(asked, terms, (turns, before) =>
      this.#summarize(engine, { turns, before, signal }),
    );
  }

  /** Rejects if the answer is stopped; where it fails otherwise, turns are left out. */
  async #summarize(
    engine: ChatEngine,
    { turns, before, signal }: { turns: readonly Turn[]; before: string | undefined; signal: AbortSignal },
  ): Promise<string | undefined> {
    this.waits.value = 'summary';
    try {
      return await summarize(turns, before, {
        engine,
        tokensPerCharacter: this.#tokensPerCharacter,
        signal,
      });
    } catch {
      signal.throwIfAborted();
      return undefined;
    } finally {
      this.waits.value = undefined;
    }
  }

  async #read(engine: ChatEngine, of: Writing, messages: ReturnType<typeof fittingMessages>['messages']) {
    const request = {
      messages,
      continues: of.begun !== undefined,
      sampling: samplingOf(this.#settings.value),
      reasoning: REASONING[this.#settings.value.thinking],
      tools: of.tools.map(({ definition }) => definition),
      name: of.stream?.name,
      fields: objectIn(this.#settings.value.serverFields),
      signal: of.signal,
    };
    return this.#take(engine.answer(request), of);
  }

  /** Reads an answer again, from where it began at the server. */
  async #readOn(engine: ChatEngine, of: Writing, { name, textLength, reasoningLength }: AnswerStream) {
    const { text = '', reasoning, ...rest } = of.begun ?? {};
    const begun = { text: text.slice(0, textLength), reasoning: reasoning?.slice(0, reasoningLength) };
    const events = engine.resume?.(name, of.signal);
    if (!events) throw new AnswerGone();
    return this.#take(events, { ...of, begun: { ...rest, ...begun, calls: undefined } });
  }

  /** Writes an answer down as it comes. */
  async #take(
    events: AsyncGenerator<AnswerEvent, void>,
    of: Pick<Writing, 'id'> & { readonly begun: Partial<Turn> | undefined },
  ): Promise<AnswerEnd> {
    const meter = new Meter();
    let { text = '', reasoning, reasoningSeconds, calls } = of.begun ?? {};
    for await (const event of events) {
      if (event.kind === 'end') return event.end;
      this.waits.value = event.kind === 'lost' ? 'connection' : undefined;
      if (event.kind === 'lost') continue;
      if (event.kind === 'prompt') {
        this.prompt.value = event;
        continue;
      }
      if (event.kind === 'call') {
        calls = grownCalls(calls ?? [], event);
        this.changeTurn(of.id, { calls });
        continue;
      }
      meter.take(event);
      text += event.text;
      if (event.reasoning !== '') reasoning = (reasoning ?? '') + event.reasoning;
      reasoningSeconds ??= meter.reasoningSeconds;
      this.changeTurn(of.id, { text, reasoning, reasoningSeconds, pace: meter.pace });
    }
    throw new TypeError('the answer broke off');
  }
}

/** How models are to reason, by the setting; the tokens are those of llama.cpp's page. */
const REASONING: Readonly<Record<SettingValues['thinking'], readonly ReasoningWish[]>> = {
  model: [],
  yes: [{ enabled: true }],
  little: [{ budget: 512 }],
  some: [{ budget: 2048 }],
  much: [{ budget: 8192 }],
  no: NO_REASONING,
};

/** How often an answer is kept while it is written: what a crash loses at most. */
const SAVE_MILLISECONDS = 500;

/** What an answer begins with. */
interface Beginning {
  /** The answer as it was, if it is continued. */
  readonly begun?: Turn;
  /** Where it goes on at the server, if it is taken up again. */
  readonly resumed?: AnswerStream;
}

/** An answer that is being written. */
interface Writing {
  readonly id: string;
  readonly asked: readonly Turn[];
  /** The answer as it was, if it is continued. */
  readonly begun: Turn | undefined;
  readonly tools: readonly PageTool[];
  readonly stream: AnswerStream | undefined;
  readonly signal: AbortSignal;
}

/** Where an answer can be read again that is written now. */
function streamOf({ text, reasoning = '' }: Turn): AnswerStream {
  return { name: freshId(), textLength: text.length, reasoningLength: reasoning.length };
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
