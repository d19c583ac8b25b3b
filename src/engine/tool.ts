import { fail, isRocmforgeError } from '../base/errors.ts';
import { checkOptions, type OptionNames } from '../base/options.ts';
import { describeValue } from '../base/option-values.ts';
import { matchesGrammar, schemaGrammar } from '../grammar/index.ts';
import type { ChatTool } from '../text/index.ts';
import { isTypedSchema, jsonSchemaOf, type ResultOf, valueBy } from './typed-schema.ts';

/** What a tool's function learns of the call besides its arguments. */
export interface ToolContext {
  /** The call's id. */
  readonly id: string;
  /** Fires when the answer is aborted. */
  readonly signal: AbortSignal;
}

/** A function that a model may call. */
export interface ToolOptions<S = unknown> {
  readonly name: string;
  /** What it does and when to call it, for the model. */
  readonly description?: string | undefined;
  /** The schema of its arguments, an object: typed (Zod) or a JSON schema. Default: there are none. */
  readonly parameters?: S | undefined;
  /**
   * Whether the model can write no arguments but those that the schema allows. Default true; the dialect of the model has to have
   * calls.
   */
  readonly strict?: boolean | undefined;
  /**
   * Computes the result that the model gets: a text, or a value that is written as JSON. What it throws ends the answer with
   * `TOOL_FAILED`; return what the model should know of a failure.
   */
  readonly run: (args: ResultOf<S>, context: ToolContext) => unknown;
}

const TOOL_OPTIONS: OptionNames<ToolOptions> = {
  name: true,
  description: true,
  parameters: true,
  strict: true,
  run: true,
};

/** The names that models and dialects can write. */
const NAME = /^[\w.-]{1,64}$/;

/** A function that a model may call, with its definition in the form that chat templates read. Created by `tool`. */
export class Tool {
  readonly definition: ChatTool;
  readonly #parameters: unknown;
  readonly #run: ToolOptions['run'];

  /** @internal */
  constructor(of: ToolOptions) {
    const { name, description, parameters, strict = true, run } = of;
    const none = { type: 'object', properties: {}, additionalProperties: false };
    this.#parameters = parameters ?? none;
    this.#run = run;
    this.definition = {
      type: 'function',
      function: {
        name,
        ...(description !== undefined && { description }),
        parameters: jsonSchemaOf(this.#parameters) as Record<string, unknown>,
        ...(strict && { strict }),
      },
    };
  }

  get name(): string {
    return this.definition.function.name;
  }

  /**
   * Runs the function with the arguments that a model has written as JSON. Arguments that its schema refuses are the model's
   * mistake: the result says so, and the function is not run. Rejects with `TOOL_FAILED` if the function throws, or if what it returns
   * cannot be written as JSON.
   */
  async call(written: string, context: ToolContext): Promise<unknown> {
    const checked = await this.#checked(written);
    if ('error' in checked) return checked;
    let result: unknown;
    try {
      result = await this.#run(checked.args, context);
    } catch (error) {
      return fail('TOOL_FAILED', { tool: this.name, reason: reasonOf(error) }, error);
    }
    try {
      JSON.stringify(result);
    } catch (error) {
      const reason = `its result cannot be written as JSON: ${reasonOf(error)}`;
      return fail('TOOL_FAILED', { tool: this.name, reason }, error);
    }
    return result;
  }

  async #checked(written: string): Promise<{ readonly args: unknown } | { readonly error: string }> {
    const { name } = this;
    try {
      const value: unknown = JSON.parse(written);
      if (isTypedSchema(this.#parameters)) return { args: await valueBy(this.#parameters, value) };
      const { parameters } = this.definition.function;
      const text = JSON.stringify(inOrder(value, parameters));
      if (matchesGrammar(schemaGrammar(parameters), text)) return { args: value };
      return { error: `the arguments of ${name} do not match its schema: ${JSON.stringify(parameters)}` };
    } catch (error) {
      if (isRocmforgeError(error, 'VALUE_INVALID')) return { error: error.message };
      if (error instanceof SyntaxError) return { error: `the arguments of ${name} are not JSON` };
      throw error;
    }
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A value with its members in the order of its schema, in which grammars want them. */
function inOrder(value: unknown, schema: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { properties = {}, items } = (schema ?? {}) as { properties?: object; items?: unknown };
  if (Array.isArray(value)) return value.map((item) => inOrder(item, items));
  const names = Object.keys(properties).filter((name) => Object.hasOwn(value, name));
  const all = [...names, ...Object.keys(value).filter((name) => !names.includes(name))];
  const of = (from: object, name: string): unknown => (from as Readonly<Record<string, unknown>>)[name];
  return Object.fromEntries(all.map((name) => [name, inOrder(of(value, name), of(properties, name))]));
}

/**
 * A function that a model may call; its arguments have the type of its schema. Throws `INVALID_ARGUMENT` or `OPTION_UNKNOWN`.
 */
export function tool<const S = Readonly<Record<string, never>>>(options: ToolOptions<S>): Tool {
  checkOptions('tool', options ?? null, TOOL_OPTIONS);
  const { name, run } = options;
  if (typeof name !== 'string' || !NAME.test(name)) {
    const expected = 'up to 64 letters, digits, _, - and .';
    fail('INVALID_ARGUMENT', { name: "a tool's name", found: JSON.stringify(name) ?? 'nothing', expected });
  }
  if (typeof run !== 'function') {
    fail('INVALID_ARGUMENT', { name: `${name}.run`, found: typeof run, expected: 'a function' });
  }
  const { parameters } = options as ToolOptions;
  if (parameters !== undefined && (typeof parameters !== 'object' || parameters === null)) {
    const found = describeValue(parameters);
    fail('INVALID_ARGUMENT', {
      name: `${name}.parameters`,
      found,
      expected: 'a schema: of Zod, or a JSON schema',
    });
  }
  const made = new Tool(options as unknown as ToolOptions);
  const { type } = (made.definition.function.parameters ?? {}) as { readonly type?: unknown };
  if (type !== undefined && type !== 'object') {
    const expected = 'the schema of an object, whose members are the arguments';
    fail('INVALID_ARGUMENT', {
      name: `${name}.parameters`,
      found: `one of ${JSON.stringify(type)}`,
      expected,
    });
  }
  return made;
}
