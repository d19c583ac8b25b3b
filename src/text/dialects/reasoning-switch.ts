import { fail, isRocmforgeError } from '../../base/errors.ts';
import type { Dialect } from './dialect.ts';

/** Options for a model's reasoning. */
export interface ReasoningOptions {
  /** Whether it reasons before it answers. Default: as the template does. */
  readonly enabled?: boolean | undefined;
  /**
   * How much it reasons, as a level that the template knows, such as `low`, `medium` and `high`; `none` turns it off.
   */
  readonly effort?: string | undefined;
  /** Maximum tokens of reasoning; after that, the answer is forced to begin. */
  readonly budget?: number | undefined;
}

type Variables = Readonly<Record<string, unknown>>;

/** The values that turn reasoning on and off, by the name of the template's variable. */
const SWITCHES: Readonly<Record<string, { readonly on?: unknown; readonly off: unknown }>> = {
  enable_thinking: { on: true, off: false },
  thinking: { on: true, off: false },
  thinking_mode: { on: 'enabled', off: 'disabled' },
  thinking_budget: { off: 0 },
};

/** The variables for the amount of reasoning. */
const EFFORTS = ['reasoning_effort', 'thinking_effort', 'reasoning_strength'];

/**
 * The template's variables for the options. Throws `REASONING_UNSUPPORTED` if the template has no such variable, and
 * `INVALID_ARGUMENT` for an invalid budget.
 */
export function reasoningVariables(
  source: string,
  dialect: Dialect,
  { enabled, effort, budget }: ReasoningOptions,
): Variables {
  if (budget !== undefined && !(Number.isInteger(budget) && budget >= 0)) {
    fail('INVALID_ARGUMENT', {
      name: 'reasoning.budget',
      found: `${budget}`,
      expected: 'a number of tokens',
    });
  }
  if (enabled === undefined && effort === undefined && budget === undefined) return {};
  const names = templateVariables(source);
  const isOn = enabled ?? (effort === undefined ? undefined : effort !== 'none');
  const isWord = effort !== undefined && effort !== 'none';
  const words = isWord ? effortVariables(names, effort) : {};
  const switched = isOn === undefined ? {} : switchVariables(source, names, isOn);
  const thinks = Object.keys(switched).length > 0 || dialect.thinks === true;
  if (isOn === false && Object.keys(switched).length === 0) refuse('switch that turns reasoning off');
  if ((isOn === true || budget !== undefined) && !thinks) refuse('reasoning');
  const limit = budget !== undefined && names.has('thinking_budget') ? { thinking_budget: budget } : {};
  return { ...switched, ...words, ...limit };
}

/** Whether a model should reason before it answers; undefined if the options do not say. */
export function isThinkingRequested({ enabled, effort, budget }: ReasoningOptions): boolean | undefined {
  if (enabled === false || effort === 'none' || budget === 0) return false;
  return enabled === true || effort !== undefined || budget !== undefined ? true : undefined;
}

/**
 * Whether a model may reason if the options do not say: not if its template then renders the same as with reasoning
 * turned off, and something else with it turned on. `write` renders.
 */
export function thinksByDefault(write: (reasoning: ReasoningOptions) => string): boolean {
  try {
    const off = write({ enabled: false });
    return write({}) !== off || write({ enabled: true }) === off;
  } catch (error) {
    // Without such a variable, the model decides.
    if (isRocmforgeError(error)) return true;
    throw error;
  }
}

/** Templates whose variables are cached: each request needs those of its model's. */
const MAX_KNOWN = 16;

const known = new Map<string, ReadonlySet<string>>();

/** The names that a template reads, except those it assigns. */
export function templateVariables(source: string): ReadonlySet<string> {
  const found = known.get(source) ?? namesIn(source);
  known.delete(source);
  known.set(source, found);
  if (known.size > MAX_KNOWN) known.delete(known.keys().next().value as string);
  return found;
}

function namesIn(source: string): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [block] of source.replace(/\{#[\s\S]*?#\}/g, '').matchAll(/\{[{%][\s\S]*?[%}]\}/g)) {
    const code = block.replace(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/g, "''");
    for (const [name] of code.matchAll(/(?<![.\w])[A-Za-z_]\w*/g)) names.add(name);
  }
  return names;
}

function effortVariables(names: ReadonlySet<string>, effort: string): Variables {
  const found = EFFORTS.filter((name) => names.has(name));
  if (found.length === 0) refuse('variable for the effort of reasoning');
  return Object.fromEntries(found.map((name) => [name, effort]));
}

function switchVariables(source: string, names: ReadonlySet<string>, isOn: boolean): Variables {
  const variables: Record<string, unknown> = {};
  for (const [name, { on, off }] of Object.entries(SWITCHES)) {
    const value = isOn ? on : off;
    if (names.has(name) && value !== undefined) variables[name] = value;
  }
  // Templates that use it as an input test whether it is defined; others have their own variable of that name.
  if (/\breasoning is (not )?(un)?defined/.test(source)) variables['reasoning'] = isOn;
  if (Object.keys(variables).length > 0 || !names.has('reasoning_effort')) return variables;
  const none = ['no_think', 'none'].find((word) => new RegExp(`['"]${word}['"]`).test(source));
  if (none !== undefined) variables['reasoning_effort'] = isOn ? 'high' : none;
  return variables;
}

function refuse(what: string): never {
  fail('REASONING_UNSUPPORTED', { what });
}
