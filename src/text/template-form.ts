import type { ChatTool } from './chat-message.ts';
import {
  type ContentParts,
  type MessageForm,
  type PreparedMessage,
  templateMessage,
} from './template-messages.ts';

/** Renders messages without adapting them; undefined when the template fails. */
export type TryRender = (messages: readonly unknown[], tools?: readonly ChatTool[]) => string | undefined;

/** How a template shows the calls of a message. */
export interface CallForm extends Pick<MessageForm, 'callArguments' | 'silentCalls'> {
  /** Whether it shows calls without text, and calls beside a text. */
  readonly showsSilent: boolean;
  readonly showsBesideText: boolean;
  /** Whether text beside calls is shown. */
  readonly showsText: boolean;
}

/** The parts that a tool may lack but a template may require. */
export type ToolPart = 'description' | 'parameters' | 'parameter descriptions';

/**
 * How tools are passed: with these parts filled in if they lack them, or not at all, because the template shows no
 * tools.
 */
export type ToolForm = ReadonlySet<ToolPart> | 'unknown';

/** Texts that no template contains. */
const MARK = 'rfProbeOne';
const OTHER = 'rfProbeTwo';
const TEXT = 'rfProbeText';

/** How messages are passed when nothing is known about the template. */
const AS_GIVEN: MessageForm = {
  parts: () => 'as they are',
  strings: 'as they are',
  callArguments: 'as objects',
  silentCalls: 'as they are',
};

/** Assumed when the template fails even without calls: its own error is more useful. */
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

/** A value printed with Python's repr is quoted. */
function shows(text: string | undefined, mark: string): boolean {
  return text !== undefined && text.includes(mark) && !text.includes(`'${mark}'`);
}

/** What a template supports, found by rendering probe messages on first use. */
export class TemplateForm {
  readonly #tryRender: TryRender;
  readonly #kept = new Map<string, unknown>();

  constructor(render: TryRender) {
    this.#tryRender = render;
  }

  /** How to pass messages. */
  messages(calls: CallForm): MessageForm {
    const { callArguments, silentCalls } = calls;
    return {
      parts: (role) => this.#parts(role),
      strings: this.#once('strings', () => this.#strings()),
      callArguments,
      silentCalls,
    };
  }

  /** How to pass tools. */
  tools(withSystem: boolean): ToolForm {
    return this.#once(`tools ${withSystem}`, () => {
      const messages = withSystem && this.showsSystem(false) ? [SYSTEM, USER] : [USER];
      const isShown = (tool: ChatTool) => this.#render(messages, [tool])?.includes(OTHER) === true;
      if (isShown(PROBE_TOOL)) return new Set(TOOL_PARTS.filter((part) => !isShown(without(part))));
      return this.#render(messages) === undefined ? new Set<ToolPart>() : 'unknown';
    });
  }

  /** Whether a leading system message is shown, in a conversation that ends with a message of the user or a tool. */
  showsSystem(withTools: boolean, endsWith: 'user' | 'tool' = 'user'): boolean {
    return this.#once(`system ${withTools} ${endsWith}`, () => {
      const tools = toolsOf(withTools);
      const form = this.messages(endsWith === 'user' ? UNTRIED : this.calls(withTools));
      const turns =
        endsWith === 'user' ? [USER] : [USER, calling([callOf(OTHER, { probe: 'v' })], ''), RESULT];
      const text = this.#render([{ role: 'system', content: MARK }, ...turns], tools, form);
      if (text !== undefined) return text.includes(MARK);
      // If it also fails without the system message, that is not the reason.
      return this.#render(turns, tools, form) === undefined;
    });
  }

  /** How to pass calls, and where they are shown. */
  calls(withTools: boolean): CallForm {
    return this.#once(`calls ${withTools}`, () => this.#calls(toolsOf(withTools)));
  }

  /** Whether tool results are shown, after a call or after the text of one. */
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

  /** Whether the second of several calls in one message is shown. */
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

  /** The rendered text if the call is shown with its arguments, and null content is not printed as `None`. */
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

/** The probe tool without this part. */
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

/** A tool with these parts added, empty, if it lacks them. */
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
