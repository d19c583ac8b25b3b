import type { Expander } from './expand.ts';
import { type PlainDraft, plainDraft } from './plain-draft.ts';
import type { SchemaNode } from './document.ts';
import { isAnnotation } from './keywords.ts';
import type { Term } from './shapes.ts';

/** Larger schemas are written when the schema is read, because writing during generation must be quick. */
export const MAX_WEIGHT = 4000;
const MAX_IN_PLACE = 64;
const MAX_TEXT = 4096;

/**
 * Finds schemas whose keywords alone show that they are supported and satisfiable, so that nothing is built for them
 * until the text gets there. Every schema reachable from a plain one is plain.
 */
export class PlainSchemas {
  readonly #expander: Expander;
  /** Undefined for schemas that are not plain. */
  readonly #known = new Map<SchemaNode, PlainDraft | undefined>();

  constructor(expander: Expander) {
    this.#expander = expander;
  }

  /** Whether only scalars satisfy a term; undefined for a term that is not plain. */
  kindOf({ nodes }: Term): 'scalar' | 'any' | undefined {
    const [node] = nodes;
    if (!node) return 'any';
    if (nodes.length > 1 || typeof node.value === 'boolean') return undefined;
    let draft = this.#known.get(node);
    if (!draft && !this.#known.has(node)) {
      this.#settle(node);
      draft = this.#known.get(node);
    }
    return draft && (draft.isScalar ? 'scalar' : 'any');
  }

  /** Equal for plain terms that describe the same scalars; undefined when the key would be long. */
  textOf({ nodes }: Term): string | undefined {
    const [node] = nodes;
    return node && this.#textOf(node);
  }

  #textOf(node: SchemaNode): string | undefined {
    const draft = this.#known.get(node);
    if (!draft || typeof node.value === 'boolean') return undefined;
    const { inPlace } = draft;
    if (inPlace.length === 1) return this.#textOf(inPlace[0] as SchemaNode);
    let text = '';
    for (const inner of inPlace) {
      const own = this.#textOf(inner);
      if (own === undefined || text.length > MAX_TEXT) return undefined;
      text += `${own.length} ${own}`;
    }
    if (inPlace.length > 0) return `any ${text}`;
    for (const [keyword, value] of node.value) {
      // When formats are asserted, no schema with a format is plain.
      if (keyword === 'format' || isAnnotation(keyword)) continue;
      text +=
        typeof value === 'string'
          ? `${keyword}"${value.length} ${value}`
          : `${keyword}=${JSON.stringify(value)}`;
    }
    return text.length > MAX_TEXT ? undefined : text;
  }

  /** Examines a schema and all schemas reachable from it. */
  #settle(first: SchemaNode): void {
    const drafts = this.#read(first);
    if (drafts.size === 0) return;
    const settled = this.#settled(drafts.values());
    const rejected = new Set<SchemaNode>();
    for (const [node, draft] of drafts) {
      if (!settled.has(node)) rejected.add(node);
      for (const other of draft.optional)
        if (!drafts.has(other) && !this.#known.get(other)) rejected.add(node);
    }
    if (rejected.size > 0) withUsers(rejected, drafts);
    for (const [node, draft] of drafts) this.#known.set(node, rejected.has(node) ? undefined : draft);
  }

  /** Settles schemas after those they reference; returns the rest: recursive ones and their users. */
  #read(first: SchemaNode): Drafts {
    const drafts = new Map<SchemaNode, PlainDraft>();
    const open = [first];
    for (let node = open.pop(); node; node = open.pop()) {
      const read = drafts.get(node);
      if (read) {
        // All schemas that it references were examined before it.
        if (this.#settleAtOnce(read)) drafts.delete(node);
        continue;
      }
      if (this.#known.has(node)) continue;
      this.#expander.fuel.spend(1);
      const draft = plainDraft(node, this.#expander);
      if (!draft) this.#known.set(node, undefined);
      else if (!this.#settleAtOnce(draft)) {
        drafts.set(node, draft);
        open.push(node);
        for (const other of draft.required) if (!drafts.has(other)) open.push(other);
        for (const other of draft.optional) if (!drafts.has(other)) open.push(other);
      }
    }
    return drafts;
  }

  /** Settles a schema whose references are all settled; false for others. */
  #settleAtOnce(draft: PlainDraft): boolean {
    const { node, required, optional } = draft;
    let isRejected = false;
    for (const others of [required, optional]) {
      for (const other of others) {
        if (this.#known.get(other)) continue;
        if (!this.#known.has(other)) return false;
        isRejected = true;
      }
    }
    const isPlain =
      !isRejected &&
      takeIn(
        draft,
        draft.inPlace.map((other) => this.#known.get(other) as PlainDraft),
      );
    this.#known.set(node, isPlain ? draft : undefined);
    return true;
  }

  /**
   * The schemas whose required schemas are all known to be satisfiable; a schema that would have to contain itself
   * never is.
   */
  #settled(drafts: Iterable<PlainDraft>): ReadonlySet<SchemaNode> {
    const waiting = new Map<SchemaNode, PlainDraft[]>();
    const missing = new Map<PlainDraft, number>();
    const ready: PlainDraft[] = [];
    for (const draft of drafts) {
      let open = 0;
      for (const other of draft.required) {
        if (this.#known.get(other)) continue;
        add(waiting, other, draft);
        open++;
      }
      if (open > 0) missing.set(draft, open);
      else ready.push(draft);
    }
    const settled = new Map<SchemaNode, PlainDraft>();
    for (let draft = ready.pop(); draft; draft = ready.pop()) {
      const inPlace = draft.inPlace.map((other) => this.#known.get(other) ?? settled.get(other));
      if (!takeIn(draft, inPlace as PlainDraft[])) continue;
      settled.set(draft.node, draft);
      for (const user of waiting.get(draft.node) ?? []) {
        const left = (missing.get(user) as number) - 1;
        missing.set(user, left);
        if (left === 0) ready.push(user);
      }
    }
    return new Set(settled.keys());
  }
}

type Drafts = ReadonlyMap<SchemaNode, PlainDraft>;

/** Adds all schemas from which one of these can be reached. */
function withUsers(schemas: Set<SchemaNode>, drafts: Drafts): void {
  const users = new Map<SchemaNode, SchemaNode[]>();
  for (const [node, draft] of drafts) {
    for (const other of draft.required) add(users, other, node);
    for (const other of draft.optional) add(users, other, node);
  }
  // The set grows during the loop.
  for (const schema of schemas) for (const user of users.get(schema) ?? []) schemas.add(user);
}

/** Adds up the schemas applied in place; false when they exceed a limit. */
function takeIn(draft: PlainDraft, inPlace: readonly PlainDraft[]): boolean {
  for (const { weight, depth, isScalar } of inPlace) {
    draft.weight += weight;
    draft.depth = Math.max(draft.depth, depth + 1);
    draft.isScalar &&= isScalar;
  }
  return draft.weight <= MAX_WEIGHT && draft.depth <= MAX_IN_PLACE;
}

function add<Key, Of>(map: Map<Key, Of[]>, key: Key, of: Of): void {
  const known = map.get(key);
  if (known) known.push(of);
  else map.set(key, [of]);
}
