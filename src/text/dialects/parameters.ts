import type { ChatTool } from '../chat-message.ts';

type Schema = Readonly<Record<string, unknown>>;

/**
 * How the bare text of a parameter is interpreted: as a literal string, as JSON, or as a string unless it is JSON of
 * the allowed types.
 */
export interface ParameterKind {
  readonly mayBeString: boolean;
  /** JSON Schema's names of the other allowed types; undefined means any. */
  readonly types: ReadonlySet<string> | undefined;
}

const ANY: ParameterKind = { mayBeString: true, types: undefined };
/** The maximum depth of nested schema references. */
const DEEPEST = 8;

/** A tool's parameters according to its JSON schema. */
export class Parameters {
  readonly schema: Schema;

  constructor(schema: unknown) {
    this.schema = isSchema(schema) ? schema : {};
  }

  static of(tool: ChatTool): Parameters {
    return new Parameters(tool.function.parameters);
  }

  /** The schemas of the properties, in order. */
  get properties(): ReadonlyMap<string, unknown> {
    const { properties } = this.schema;
    return new Map(isSchema(properties) ? Object.entries(properties) : []);
  }

  /** The schema of a property; undefined if there is none. */
  property(name: string): unknown {
    return this.properties.get(name);
  }

  /** The kind of the property with this name. */
  kindOf(name: string): ParameterKind {
    return this.kindOfSchema(this.property(name));
  }

  /** The kind of a schema's values. */
  kindOfSchema(schema: unknown): ParameterKind {
    const types = this.#typesOf(schema, 0);
    if (!types) return ANY;
    const others = new Set(types);
    const mayBeString = others.delete('string');
    return { mayBeString, types: others };
  }

  /** Follows `$ref` within the same schema. */
  resolve(schema: unknown): unknown {
    let at = schema;
    for (let depth = 0; depth < DEEPEST && isSchema(at) && typeof at['$ref'] === 'string'; depth++) {
      const [first, ...path] = at['$ref'].split('/');
      if (first !== '#') return undefined;
      at = path.reduce<unknown>(
        (found, name) =>
          isSchema(found) ? found[name.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined,
        this.schema,
      );
    }
    return at;
  }

  /** The types that a schema allows; undefined for any. */
  #typesOf(found: unknown, depth: number): ReadonlySet<string> | undefined {
    const schema = this.resolve(found);
    if (!isSchema(schema) || depth > DEEPEST) return undefined;
    const { type } = schema;
    if (typeof type === 'string') return new Set([type]);
    if (Array.isArray(type)) return new Set(type.map(String));
    if ('const' in schema) return new Set([typeOf(schema['const'])]);
    if (Array.isArray(schema['enum'])) return new Set(schema['enum'].map(typeOf));
    for (const word of ['anyOf', 'oneOf']) {
      const parts = schema[word];
      if (!Array.isArray(parts)) continue;
      const all = parts.map((part) => this.#typesOf(part, depth + 1));
      return all.includes(undefined) ? undefined : new Set(all.flatMap((types) => [...(types ?? [])]));
    }
    const { allOf } = schema;
    if (Array.isArray(allOf)) {
      return allOf.map((part) => this.#typesOf(part, depth + 1)).find((types) => types !== undefined);
    }
    if ('properties' in schema) return new Set(['object']);
    if ('items' in schema) return new Set(['array']);
    return undefined;
  }
}

/**
 * Converts bare text to JSON. Where JSON is expected, other text is interpreted as a Python literal name if it is one,
 * and as a string otherwise, so that nothing is lost.
 */
export function bareValue(text: string, { mayBeString, types }: ParameterKind): string {
  const trimmed = text.trim();
  const found = parsed(trimmed) ?? (mayBeString ? undefined : parsed(PYTHON[trimmed] ?? ''));
  if (!found) return JSON.stringify(text);
  const type = typeOf(found.value);
  if (!mayBeString) return found.text;
  const isDue = types ? types.has(type) || (type === 'integer' && types.has('number')) : type !== 'string';
  return isDue ? found.text : JSON.stringify(text);
}

const PYTHON: Readonly<Record<string, string>> = { True: 'true', False: 'false', None: 'null' };

function parsed(text: string): { value: unknown; text: string } | undefined {
  try {
    return { value: JSON.parse(text), text };
  } catch {
    return undefined;
  }
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

/** True for a schema that is an object. */
export function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
