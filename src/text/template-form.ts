import type { ChatTool } from './chat-message.ts';
import {
  type ContentParts,
  type MessageForm,
  type PreparedMessage,
  templateMessage,
} from './template-messages.ts';

/** Renders messages that are handed over as they are; undefined where the template fails. */
export type TryRender = (messages: readonly unknown[], tools?: readonly ChatTool[]) => string | undefined;

/** How a template shows the calls of a message. */
export interface CallForm extends Pick<MessageForm, 'callArguments' | 'silentCalls'> {
  /** Whether it shows calls with nothing said beside, and those beside a text. */
  readonly showsSilent: boolean;
  readonly showsBesideText: boolean;
  /** Whether a text beside calls is shown. */
  readonly showsText: boolean;
}

/** What tools may lack and a template may need. */
export type ToolPart = 'description' | 'parameters' | 'parameter descriptions';

/** How tools are handed over: with what they lack of these parts, or not at all, since none would be shown. */
export type ToolForm = ReadonlySet<ToolPart> | 'unknown';

/** Texts that no template writes itself. */
const MARK = 'rfProbeOne';
const OTHER = 'rfProbeTwo';
const TEXT = 'rfProbeText';

/** How messages are handed over where nothing is known of the template. */
const AS_GIVEN: MessageForm = {
  parts: () => 'as they are',
  strings: 'as they are',
  callArguments: 'as objects',
  silentCalls: 'as they are',
};

/** What is said of calls by a template that fails anyhow: what it says itself is of more use. */
const UNTRIED: CallForm = {
  callArguments: 'as objects',
  silentCalls: 'as they are',
  showsSilent: true,
  showsBesideText: true,
  showsText: true,
};

const SYSTEM = { role: 'system', content: 'w' };
const USER = { role: 'user', content: 'x' };
const ANSWER = { role: 'assistant', content: 'y' };

const PROBE_TOOL: ChatTool = {
  type: 'function',
  function: {
    name: OTHER,
    description: 'z',
    parameters: {
      type: 'object',
      properties: { probe: { type: 'string', description: 'z' } },
      required: ['probe'],
    },
  },
};

function callOf(name: string, given: unknown, id = 'probe0001') {
  return { id, type: 'function' as const, function: { name, arguments: given as Record<string, unknown> } };
}

function calling(calls: readonly unknown[], content: string | null): PreparedMessage {
  return { role: 'assistant', content, tool_calls: calls as never };
}

const RESULT: PreparedMessage = { role: 'tool', content: 'z', tool_call_id: 'probe0001', name: OTHER };

/** A value that was printed as Python writes it shows its quotes. */
function shows(text: string | undefined, mark: string): boolean {
  return text !== undefined && text.includes(mark) && !text.includes(`'${mark}'`);
}

/** What a template makes of messages, found out by rendering a few, each at its first use. */
export class TemplateForm {
  readonly #tryRender: TryRender;
  readonly #kept = new Map<string, unknown>();

  constructor(render: TryRender) {
    this.#tryRender = render;
  }

  /** How messages are to be handed over. */
  messages(calls: CallForm): MessageForm {
    const { callArguments, silentCalls } = calls;
    return {
      parts: (role) => this.#parts(role),
      strings: this.#once('strings', () => this.#strings()),
      callArguments,
      silentCalls,
    };
  }

  /** How tools are to be handed over. */
  tools(withSystem: boolean): ToolForm {
    return this.#once(`tools ${withSystem}`, () => {
      const messages = withSystem && this.showsSystem(false) ? [SYSTEM, USER] : [USER];
      const isShown = (tool: ChatTool) => this.#render(messages, [tool])?.includes(OTHER) === true;
      if (isShown(PROBE_TOOL)) return new Set(TOOL_PARTS.filter((part) => !isShown(without(part))));
      return this.#render(messages) === undefined ? new Set<ToolPart>() : 'unknown';
    });
  }

  /** Whether a system message before all others is shown, in a conversation that the user or a tool has said the last of. */
  showsSystem(withTools: boolean, endsWith: 'user' | 'tool' = 'user'): boolean {
    return this.#once(`system ${withTools} ${endsWith}`, () => {
      const tools = toolsOf(withTools);
      const form = this.messages(endsWith === 'user' ? UNTRIED : this.calls(withTools));
      const turns =
        endsWith === 'user' ? [USER] : [USER, calling([callOf(OTHER, { probe: 'v' })], ''), RESULT];
      const text = this.#render([{ role: 'system', content: MARK }, ...turns], tools, form);
      if (text !== undefined) return text.includes(MARK);
      // Where it fails anyhow, the system message is not the reason.
      return this.#render(turns, tools, form) === undefined;
    });
  }

  /** How calls are to be handed over, and where they are shown. */
  calls(withTools: boolean): CallForm {
    return this.#once(`calls ${withTools}`, () => this.#calls(toolsOf(withTools)));
  }

  /** Whether what a tool answered is shown, after a call or after the text of one. */
  showsToolResults(withTools: boolean): boolean {
    return this.#once(`results ${withTools}`, () => {
      const tools = toolsOf(withTools);
      const { showsSilent } = this.calls(withTools);
      const before = [USER, showsSilent ? calling([callOf(OTHER, { probe: 'v' })], '') : ANSWER];
      const form = this.messages(this.calls(withTools));
      const text = this.#render([...before, { ...RESULT, content: MARK }], tools, form);
      if (text !== undefined) return text.includes(MARK);
      return this.#render(before, tools, form) === undefined;
    });
  }

  /** Whether of several calls in one message the second is shown. */
  get showsAllCalls(): boolean {
    return this.#once('all calls', () => {
      const calls = [callOf(MARK, { probe: 'v' }), callOf(OTHER, { probe: 'v' }, 'probe0002')];
      const form = this.messages(this.calls(false));
      const render = (given: typeof calls) => {
        const results = given.map(({ id }) => ({ ...RESULT, tool_call_id: id }));
        return this.#render([USER, calling(given, ''), ...results], undefined, form);
      };
      const text = render(calls);
      if (text === undefined) return render(calls.slice(0, 1)) === undefined;
      return !text.includes(MARK) || text.includes(OTHER);
    });
  }

  #render(
    messages: readonly PreparedMessage[],
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

  #parts(role: string): 'as they are' | 'as text' {
    return this.#once(`parts ${role}`, () => {
      const text = this.#render(conversationOf(role, [{ type: 'text', text: MARK }]));
      return shows(text, MARK) && !text?.includes(`"${MARK}"`) ? 'as they are' : 'as text';
    });
  }

  #strings(): 'as they are' | 'as parts' {
    if (this.#render(conversationOf('user', MARK))?.includes(MARK)) return 'as they are';
    return this.#parts('user') === 'as they are' ? 'as parts' : 'as they are';
  }

  #calls(tools: readonly ChatTool[] | undefined): CallForm {
    for (const results of [[RESULT], []]) {
      for (const callArguments of ['as objects', 'as text'] as const) {
        const tried = (content: string | null) => this.#withCall({ content, callArguments, tools, results });
        const [none, empty, beside] = [tried(null), tried(''), tried(TEXT)];
        if (none === undefined && empty === undefined && beside === undefined) continue;
        const isEither = (none === undefined) === (empty === undefined);
        return {
          callArguments,
          silentCalls: isEither ? 'as they are' : none === undefined ? '' : null,
          showsSilent: none !== undefined || empty !== undefined,
          showsBesideText: beside !== undefined,
          showsText: beside?.includes(TEXT) !== false,
        };
      }
    }
    if (this.#render([USER, ANSWER, USER], tools) === undefined) return UNTRIED;
    return { ...UNTRIED, showsSilent: false, showsBesideText: false };
  }

  /** What is made of a call where it is shown with its arguments, and nothing is written for a content of none. */
  #withCall(of: {
    content: string | null;
    callArguments: MessageForm['callArguments'];
    tools: readonly ChatTool[] | undefined;
    results: readonly PreparedMessage[];
  }): string | undefined {
    const { content, callArguments, tools, results } = of;
    const call = calling([callOf(OTHER, { probe: MARK })], content);
    const text = this.#render([USER, call, ...results], tools, { ...AS_GIVEN, callArguments });
    const isShown = shows(text, MARK) && text?.includes(OTHER);
    return isShown && (content !== null || !text?.includes('None')) ? text : undefined;
  }
}

const TOOL_PARTS: readonly ToolPart[] = ['description', 'parameters', 'parameter descriptions'];

/** A tool that lacks this part. */
function without(part: ToolPart): ChatTool {
  const { description, parameters = {}, name } = PROBE_TOOL.function;
  const bare = { ...parameters, properties: { probe: { type: 'string' } } };
  return {
    type: 'function',
    function: {
      name,
      ...(part !== 'description' && description !== undefined && { description }),
      ...(part !== 'parameters' && { parameters: part === 'description' ? parameters : bare }),
    },
  };
}

/** A tool with these parts, empty where it lacks them. */
export function toolWith(tool: ChatTool, parts: ReadonlySet<ToolPart>): ChatTool {
  const { description, parameters } = tool.function;
  const schema = parameters ?? (parts.has('parameters') ? { type: 'object', properties: {} } : undefined);
  return {
    ...tool,
    function: {
      ...tool.function,
      ...(description === undefined && parts.has('description') && { description: '' }),
      ...(schema && { parameters: parts.has('parameter descriptions') ? describedSchema(schema) : schema }),
    },
  };
}

function describedSchema(schema: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { properties } = schema;
  if (typeof properties !== 'object' || properties === null) return schema;
  const described = Object.entries(properties).map(([name, of]: [string, unknown]) => [
    name,
    typeof of === 'object' && of !== null ? { description: '', ...of } : of,
  ]);
  return { ...schema, properties: Object.fromEntries(described) };
}

function toolsOf(withTools: boolean): readonly ChatTool[] | undefined {
  return withTools ? [PROBE_TOOL] : undefined;
}

function conversationOf(role: string, content: string | ContentParts): PreparedMessage[] {
  if (role === 'system' || role === 'developer') return [{ role, content }, USER];
  if (role === 'assistant') return [USER, { role, content }, USER];
  if (role === 'tool') return [USER, calling([callOf(OTHER, { probe: 'v' })], ''), { ...RESULT, content }];
  return [{ role, content }, ANSWER, USER];
}
