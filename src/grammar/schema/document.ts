import { invalid, refuse } from './options.ts';
import { type CopiedJson, type Json, type JsonObject, isArray, isObject, pointerTo } from './json-value.ts';
import { forEachSubschema } from './subschemas.ts';

/** A schema and its location. */
export interface SchemaNode {
  readonly id: number;
  /** Its location in the document; for synthetic schemas, that of their origin. */
  readonly pointer: string;
  readonly value: boolean | JsonObject;
  /** The base URI of its references. */
  readonly base: string;
}

const ANCHORS = ['$anchor', '$dynamicAnchor'];
const NO_BASE = 'json-schema://document/schema';
const NO_SCHEMA = 'expected a schema: an object, true or false';

/** The keywords that make schemas addressable from elsewhere. */
export const ADDRESSES: ReadonlySet<string> = new Set(['$id', '$anchor', '$dynamicAnchor']);

/** Where a schema is: below a keyword of another one, or in its place. */
interface Place {
  readonly of: SchemaNode;
  readonly keyword?: string;
  readonly step?: string | number | undefined;
}

/** A schema whose pointer is built on demand, since only errors need it. */
class PlacedNode implements SchemaNode {
  readonly id: number;
  readonly value: boolean | JsonObject;
  readonly base: string;
  readonly #at: Place | string;

  constructor(id: number, value: boolean | JsonObject, base: string, at: Place | string) {
    this.id = id;
    this.value = value;
    this.base = base;
    this.#at = at;
  }

  get pointer(): string {
    return typeof this.#at === 'string' ? this.#at : pointerOf(this.#at);
  }
}

function pointerOf({ of, keyword, step }: Place): string {
  if (keyword === undefined) return of.pointer;
  const own = pointerTo(of.pointer, keyword);
  return step === undefined ? own : pointerTo(own, step);
}

/**
 * All schemas of a document, with their addresses and anchors. When it has none, as `copyJson` reports, schemas are
 * registered lazily.
 */
export class SchemaDocument {
  readonly root: SchemaNode;
  readonly #nodes = new Map<JsonObject, SchemaNode>();
  readonly #resources = new Map<string, SchemaNode>();
  readonly #anchors = new Map<string, SchemaNode>();
  readonly #dynamicAnchors = new Map<string, SchemaNode[]>();
  readonly #made = new Map<string, SchemaNode>();
  readonly #literals = new Map<Json, SchemaNode>();
  readonly #negated = new Map<SchemaNode, SchemaNode>();
  #ids = 0;

  /** `isFound` tells whether a schema may use one of the `ADDRESSES`. */
  constructor({ value, isFound }: CopiedJson) {
    if (typeof value === 'boolean') this.root = this.constant(value);
    else if (isObject(value)) this.root = this.#register(value, NO_BASE, '');
    else this.root = invalid('', NO_SCHEMA);
    if (isFound) this.#registerAll(this.root);
    this.#resources.set(NO_BASE, this.root);
    this.#resources.set(this.root.base, this.root);
  }

  /** The schema at `step` below a keyword of another one. Throws `GRAMMAR_INVALID` when the value is no schema. */
  node(value: Json, of: SchemaNode, keyword: string, step?: string | number): SchemaNode {
    if (typeof value === 'boolean') return this.constant(value);
    if (!isObject(value)) return invalid(pointerOf({ of, keyword, step }), NO_SCHEMA);
    return this.#nodes.get(value) ?? this.#register(value, of.base, { of, keyword, step });
  }

  /** The schema that accepts everything or nothing. */
  constant(value: boolean): SchemaNode {
    return this.#make(String(value), () => new PlacedNode(this.#ids++, value, NO_BASE, ''));
  }

  /** The schema of one value in an `enum` or `const`. */
  literal(value: Json, of: SchemaNode): SchemaNode {
    const isScalar = !isArray(value) && !isObject(value);
    const known = isScalar ? undefined : this.#literals.get(value);
    const node =
      known ??
      this.synthetic('const', value, of, isScalar ? JSON.stringify(value) : `#${this.#literals.size}`);
    if (!isScalar) this.#literals.set(value, node);
    return node;
  }

  /** A schema of one keyword and its value, which represents a part of another schema. */
  synthetic(keyword: string, value: Json, of: SchemaNode, key: string): SchemaNode {
    return this.#make(
      `${keyword} ${key}`,
      () => new PlacedNode(this.#ids++, new Map([[keyword, value]]), of.base, { of }),
    );
  }

  /** The schema of everything that does not satisfy all of these. */
  negation(of: readonly SchemaNode[]): SchemaNode {
    const [first] = of;
    if (!first) return this.constant(false);
    const inner = of.length === 1 ? this.#negated.get(first) : undefined;
    if (inner) return inner;
    const key = of.map(({ id }) => id).join(',');
    const all: Json = of.length === 1 ? first.value : new Map([['allOf', of.map(({ value }) => value)]]);
    const node = this.synthetic('not', all, first, key);
    if (of.length === 1) this.#negated.set(node, first);
    return node;
  }

  /**
   * The target of a `$ref`. Throws `SCHEMA_UNSUPPORTED` for other documents and `GRAMMAR_INVALID` for a missing target.
   */
  resolve(reference: string, from: SchemaNode, keyword: string): SchemaNode {
    const at = pointerTo(from.pointer, keyword);
    const { resource, fragment } = this.#split(reference, from.base, at);
    const start = this.#resources.get(resource);
    if (!start) return refuse(keyword, at, `"${reference}" is in another document`);
    if (fragment === '') return start;
    if (!fragment.startsWith('/')) {
      return this.#anchors.get(`${resource}#${fragment}`) ?? invalid(at, `there is no anchor "${fragment}"`);
    }
    return this.#follow(start, fragment, at);
  }

  /**
   * The target of a `$dynamicRef` when only one schema is possible. Throws `SCHEMA_UNSUPPORTED` when it depends on the
   * dynamic scope.
   */
  resolveDynamic(reference: string, from: SchemaNode): SchemaNode {
    const target = this.resolve(reference, from, '$dynamicRef');
    const at = pointerTo(from.pointer, '$dynamicRef');
    const { fragment } = this.#split(reference, from.base, at);
    const named = this.#dynamicAnchors.get(fragment) ?? [];
    if (named.includes(target) && named.length > 1) {
      refuse('$dynamicRef', at, `${named.length} schemas have the $dynamicAnchor "${fragment}"`);
    }
    return target;
  }

  #split(reference: string, base: string, at: string): { resource: string; fragment: string } {
    const address = addressOf(reference, base, at);
    const hash = address.indexOf('#');
    if (hash < 0) return { resource: address, fragment: '' };
    try {
      return { resource: address.slice(0, hash), fragment: decodeURIComponent(address.slice(hash + 1)) };
    } catch {
      return invalid(at, `"${reference}" is no reference: its percent signs say nothing`);
    }
  }

  #follow(start: SchemaNode, fragment: string, at: string): SchemaNode {
    let value: Json = start.value;
    let { pointer, base } = start;
    for (const step of fragment.slice(1).split('/')) {
      const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
      const next: Json | undefined = isObject(value)
        ? value.get(name)
        : isArray(value) && /^(?:0|[1-9]\d*)$/.test(name)
          ? value[Number(name)]
          : undefined;
      if (next === undefined) return invalid(at, `there is nothing at "${fragment}"`);
      pointer = pointerTo(pointer, name);
      value = next;
      if (isObject(value)) base = this.#nodes.get(value)?.base ?? base;
    }
    if (typeof value === 'boolean') return this.constant(value);
    if (!isObject(value)) return invalid(pointer, NO_SCHEMA);
    return this.#nodes.get(value) ?? this.#registerAll(this.#register(value, base, pointer));
  }

  #make(key: string, of: () => SchemaNode): SchemaNode {
    let node = this.#made.get(key);
    if (!node) {
      node = of();
      this.#made.set(key, node);
      if (isObject(node.value)) this.#nodes.set(node.value, node);
    }
    return node;
  }

  /** Registers the subschemas of a schema. */
  #registerAll(node: SchemaNode): SchemaNode {
    const open = [node];
    for (let of = open.pop(); of; of = open.pop()) {
      const outer = of;
      if (!isObject(outer.value)) continue;
      forEachSubschema(outer.value, (value, keyword, step) => {
        if (!this.#nodes.has(value))
          open.push(this.#register(value, outer.base, { of: outer, keyword, step }));
      });
    }
    return node;
  }

  #register(value: JsonObject, base: string, at: Place | string): SchemaNode {
    const id = value.get('$id');
    let own = base;
    if (typeof id === 'string') {
      const pointer = typeof at === 'string' ? at : pointerOf(at);
      own = addressOf(id, base, pointerTo(pointer, '$id')).replace(/#$/, '');
    }
    const node = new PlacedNode(this.#ids++, value, own, at);
    this.#nodes.set(value, node);
    if (typeof id === 'string' && !this.#resources.has(own)) this.#resources.set(own, node);
    for (const keyword of ANCHORS) {
      const name = value.get(keyword);
      if (typeof name !== 'string') continue;
      this.#anchors.set(`${own}#${name}`, node);
      if (keyword === '$dynamicAnchor') {
        this.#dynamicAnchors.set(name, [...(this.#dynamicAnchors.get(name) ?? []), node]);
      }
    }
    return node;
  }
}

function addressOf(reference: string, base: string, at: string): string {
  try {
    return new URL(reference, base).href;
  } catch {
    return invalid(at, `"${reference}" is no reference to a schema`);
  }
}
