import {
  incompleteOutcome,
  type CallContext,
  type CallRules,
  type CallSyntax,
  readConsecutiveCalls,
} from '../call-context.ts';
import { isSchema, type Parameters } from '../parameters.ts';
import type { Reading, Scanner } from '../scanner.ts';
import { writeNestedTagCalls } from '../written-calls.ts';
import { readValue } from './parameter-calls.ts';
import type { Rule } from '../../../grammar/index.ts';
import { fieldsOf, fieldsRule } from '../forced/fields.ts';
import { bareRule } from '../forced/raw-values.ts';
import { choice, marker, sequence, repeatedCalls, text } from '../forced/rules.ts';

/** Values nested deeper are malformed. */
const DEEPEST = 32;
const MAX_NAME_LENGTH = 256;

/**
 * MiniMax M3's calls: every tag is preceded by the same token, objects are tags named by their keys, lists are `item`
 * tags.
 */
export function nestedTagCalls(token: string): CallSyntax {
  return {
    starts: [`${token}<tool_call>`, `${token}<invoke name="`],
    *read(context, start) {
      const { scanner } = context;
      const open = `${token}<invoke name="`;
      if (start !== open && (yield* scanner.takeSpaced([open])) === undefined) return false;
      if (!(yield* readConsecutiveCalls(context, open, () => readCall(context, token)))) return false;
      yield* scanner.takeSpaced([`${token}</tool_call>`]);
      return true;
    },
    rule: (rules) => nestedTagCallsRule(token, rules),
    write: (calls) => writeNestedTagCalls(token, calls),
  };
}

function* readCall(context: CallContext, token: string): Reading<boolean> {
  const { scanner, tools } = context;
  const name = yield* readShort(scanner, '">');
  if (name === undefined || !context.beginCall(name)) return false;
  const parameters = tools.get(name) as Parameters;
  const fields = new FieldReader(context, { token, parameters });
  const isWhole = yield* fields.readObject(parameters.schema, `${token}</invoke>`, 0);
  context.endCall(isWhole ? 'whole' : incompleteOutcome(scanner));
  return true;
}

class FieldReader {
  readonly #context: CallContext;
  readonly #token: string;
  readonly #parameters: Parameters;

  constructor(context: CallContext, of: { token: string; parameters: Parameters }) {
    this.#context = context;
    this.#token = of.token;
    this.#parameters = of.parameters;
  }

  /** Parses tags up to the closing one as an object; false when they are cut off or malformed. */
  *readObject(schema: unknown, close: string, depth: number): Reading<boolean> {
    const { scanner, emitArguments } = this.#context;
    emitArguments('{');
    for (let count = 0; ; count++) {
      const next = yield* scanner.takeSpaced([close, `${this.#token}<`]);
      if (next === close) break;
      const key = next === undefined ? undefined : yield* readShort(scanner, '>');
      if (key === undefined) return false;
      emitArguments(`${count === 0 ? '' : ', '}${JSON.stringify(key)}: `);
      if (!(yield* this.#readValue(this.#propertyOf(schema, key), key, depth + 1))) return false;
    }
    emitArguments('}');
    return true;
  }

  *#readList(schema: unknown, close: string, depth: number): Reading<boolean> {
    const { scanner, emitArguments } = this.#context;
    emitArguments('[');
    for (let count = 0; ; count++) {
      const next = yield* scanner.takeSpaced([close, `${this.#token}<item>`]);
      if (next === close) break;
      if (next === undefined) return false;
      if (count > 0) emitArguments(', ');
      if (!(yield* this.#readValue(this.#itemOf(schema), 'item', depth + 1))) return false;
    }
    emitArguments(']');
    return true;
  }

  *#readValue(schema: unknown, key: string, depth: number): Reading<boolean> {
    const { scanner } = this.#context;
    const close = `${this.#token}</${key}>`;
    const kind = this.#parameters.kindOfSchema(schema);
    const isList = kind.types?.has('array') ?? false;
    const isObject = kind.types?.has('object') ?? false;
    if (depth > DEEPEST) return false;
    if (kind.mayBeString || !(isList || isObject)) return yield* readValue(this.#context, [close], kind);
    const before = scanner.place;
    const first = yield* scanner.takeSpaced([close, `${this.#token}<item>`, `${this.#token}<`]);
    scanner.goTo(before);
    // Without tags: JSON, or a value of another type.
    if (first === undefined) return yield* readValue(this.#context, [close], kind);
    const isItem = first === `${this.#token}<item>`;
    if (isList && (isItem || !isObject)) return yield* this.#readList(schema, close, depth);
    return yield* this.readObject(schema, close, depth);
  }

  #propertyOf(schema: unknown, key: string): unknown {
    return this.#partOf(schema, (found) => {
      const { properties } = found;
      return isSchema(properties) ? properties[key] : undefined;
    });
  }

  #itemOf(schema: unknown): unknown {
    return this.#partOf(schema, ({ items }) => items);
  }

  /** The schemas that a schema or its alternatives give for a part. */
  #partOf(found: unknown, pick: (schema: Readonly<Record<string, unknown>>) => unknown): unknown {
    const schema = this.#parameters.resolve(found);
    if (!isSchema(schema)) return undefined;
    const own = pick(schema);
    if (own !== undefined) return own;
    for (const word of ['anyOf', 'oneOf', 'allOf']) {
      const parts = schema[word];
      for (const part of Array.isArray(parts) ? parts : []) {
        const resolved: unknown = this.#parameters.resolve(part);
        const picked = isSchema(resolved) ? pick(resolved) : undefined;
        if (picked !== undefined) return picked;
      }
    }
    return undefined;
  }
}

/** Parses a name up to the marker after it; undefined when that does not come soon. */
function* readShort(scanner: Scanner, end: string): Reading<string | undefined> {
  let name = '';
  const found = yield* scanner.until([end], (text) => {
    name += text;
  });
  return found === undefined || name.length > MAX_NAME_LENGTH ? undefined : name.trim();
}

/**
 * Calls in which every tag is preceded by a token; objects and lists are written as JSON. Throws `SCHEMA_UNSUPPORTED`.
 */
function nestedTagCallsRule(token: string, { tools, isParallel }: CallRules): Rule {
  const calls = [...tools].map(([name, parameters]) => {
    const fields = fieldsOf(parameters).map((field) => {
      const close = `${token}</${field.name}>`;
      const value = bareRule(parameters, field, close);
      const open = sequence(marker(`${token}<`), text(`${field.name}>`));
      return {
        rule: sequence(open, value, marker(token), text(close.slice(token.length))),
        isRequired: field.isRequired,
      };
    });
    const head = sequence(marker(`${token}<invoke name="`), text(`${name}">`));
    return sequence(head, fieldsRule(fields, sequence()), marker(token), text('</invoke>'));
  });
  const open = sequence(marker(token), text('<tool_call>\n'));
  const all = repeatedCalls(choice(...calls), isParallel, text('\n'));
  return sequence(open, all, text('\n'), marker(token), text('</tool_call>'));
}
