import type { ChatTool, TemplateMessage } from './chat-message.ts';
import { type MessageForm, templateMessage } from './template-messages.ts';

/** Renders messages that are handed over as they are; undefined where the template fails. */
export type TryRender = (messages: readonly unknown[], tools?: readonly ChatTool[]) => string | undefined;

/** Texts that no template writes itself. */
const MARK = 'rfProbeOne';
const OTHER = 'rfProbeTwo';

/** How messages are handed over where nothing is known of the template. */
const AS_GIVEN: MessageForm = {
  parts: () => 'as they are',
  strings: 'as they are',
  callArguments: 'as objects',
  nothing: null,
};

const USER = { role: 'user', content: 'x' };
const ANSWER = { role: 'assistant', content: 'y' };

const PROBE_TOOL: ChatTool = {
  type: 'function',
  function: {
    name: OTHER,
    description: 'z',
    parameters: { type: 'object', properties: { probe: { type: 'string' } }, required: ['probe'] },
  },
};

function callOf(name: string, given: unknown, id = 'probe0001') {
  return { id, type: 'function' as const, function: { name, arguments: given as Record<string, unknown> } };
}

function calling(calls: readonly unknown[], content: string | null): TemplateMessage {
  return { role: 'assistant', content, tool_calls: calls as never };
}

const RESULT: TemplateMessage = { role: 'tool', content: 'z', tool_call_id: 'probe0001', name: OTHER };

/** A value that was printed as Python writes it shows its quotes. */
function shows(text: string | undefined, mark: string): boolean {
  return text !== undefined && text.includes(mark) && !text.includes(`'${mark}'`);
}

/** What a template makes of messages, found out by rendering a few, each at its first use. */
export class TemplateForm {
  readonly #tryRender: TryRender;
  readonly #parts = new Map<string, 'as they are' | 'as text'>();
  readonly #kept = new Map<string, unknown>();

  constructor(render: TryRender) {
    this.#tryRender = render;
  }

  /** How messages are to be handed over. */
  get messages(): MessageForm {
    return {
      parts: (role) => this.#partsOf(role),
      strings: this.#once('strings', () => this.#strings()),
      callArguments: this.#once('arguments', () => this.#callArguments()),
      nothing: this.#once('nothing', () => this.#nothing()),
    };
  }

  /** Whether a system message before all others is shown. */
  showsSystem(withTools: boolean): boolean {
    return this.#once(`system ${withTools}`, () => {
      const tools = withTools ? [PROBE_TOOL] : undefined;
      const text = this.#render([{ role: 'system', content: MARK }, USER], tools);
      if (text !== undefined) return text.includes(MARK);
      // Where it fails anyhow, the system message is not the reason.
      return this.#render([USER], tools) === undefined;
    });
  }

  /** Whether a call is shown. A template that refuses calls says so itself. */
  get showsCalls(): boolean {
    return this.#once('call', () => {
      const text = this.#render([USER, calling([callOf(MARK, { probe: 'v' })], ''), RESULT]);
      return text === undefined || text.includes(MARK);
    });
  }

  /** Whether what a tool answered is shown. A template that refuses it says so itself. */
  get showsToolResults(): boolean {
    return this.#once('result', () => {
      const result = { ...RESULT, content: MARK };
      const text = this.#render([USER, calling([callOf(OTHER, { probe: 'v' })], ''), result]);
      return text === undefined || text.includes(MARK);
    });
  }

  /** Whether of several calls in one message the second is shown. A template that refuses them says so itself. */
  get showsAllCalls(): boolean {
    return this.#once('calls', () => {
      const calls = [callOf(MARK, { probe: 'v' }), callOf(OTHER, { probe: 'v' }, 'probe0002')];
      const text = this.#render([USER, calling(calls, ''), RESULT, { ...RESULT, tool_call_id: 'probe0002' }]);
      return text === undefined || !text.includes(MARK) || text.includes(OTHER);
    });
  }

  #render(
    messages: readonly TemplateMessage[],
    tools?: readonly ChatTool[],
    form = AS_GIVEN,
  ): string | undefined {
    return this.#tryRender(
      messages.map((message) => templateMessage(message, form)),
      tools,
    );
  }

  #once<T>(name: string, find: () => T): T {
    if (!this.#kept.has(name)) this.#kept.set(name, find());
    return this.#kept.get(name) as T;
  }

  #partsOf(role: string): 'as they are' | 'as text' {
    const known = this.#parts.get(role);
    if (known) return known;
    const text = this.#render(conversationOf(role, [{ type: 'text', text: MARK }]));
    const form = shows(text, MARK) && !text?.includes(`"${MARK}"`) ? 'as they are' : 'as text';
    this.#parts.set(role, form);
    return form;
  }

  #strings(): 'as they are' | 'as parts' {
    if (this.#render(conversationOf('user', MARK))?.includes(MARK)) return 'as they are';
    return this.#partsOf('user') === 'as they are' ? 'as parts' : 'as they are';
  }

  #callArguments(): 'as objects' | 'as text' {
    const messages = [USER, calling([callOf(OTHER, { probe: MARK })], ''), RESULT];
    if (shows(this.#render(messages, [PROBE_TOOL]), MARK)) return 'as objects';
    const form: MessageForm = { ...AS_GIVEN, callArguments: 'as text' };
    return shows(this.#render(messages, [PROBE_TOOL], form), MARK) ? 'as text' : 'as objects';
  }

  #nothing(): null | '' {
    const render = (content: string | null) =>
      this.#render([USER, calling([callOf(OTHER, { probe: MARK })], content), RESULT], [PROBE_TOOL]);
    const without = render(null);
    if (without !== undefined && !without.includes('None')) return null;
    return render('') === undefined ? null : '';
  }
}

function conversationOf(role: string, content: NonNullable<TemplateMessage['content']>): TemplateMessage[] {
  if (role === 'system' || role === 'developer') return [{ role, content }, USER];
  if (role === 'assistant') return [USER, { role, content }, USER];
  if (role === 'tool') return [USER, calling([callOf(OTHER, { probe: 'v' })], ''), { ...RESULT, content }];
  return [{ role, content }, ANSWER, USER];
}
