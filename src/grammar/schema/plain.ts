import type { Expander } from './expand.ts';
import { type PlainDraft, plainDraft } from './plain-draft.ts';
import type { SchemaNode } from './document.ts';
import type { Term } from './shapes.ts';

/** More than this is written at once, when the schema is read: what is written while a text waits is to be short. */
const MOST_WEIGHT = 4000;
const MOST_IN_PLACE = 64;

/**
 * Finds the schemas of which a look at their keywords tells that they can be held to and that they have a value, so that nothing
 * has to be made of them before a text comes there. Every schema that can be reached from a plain one is plain.
 */
export class PlainSchemas {
  readonly #expander: Expander;
  /** Undefined for what is not plain. */
  readonly #known = new Map<SchemaNode, PlainDraft | undefined>();

  constructor(expander: Expander) {
    this.#expander = expander;
  }

  /** Whether what satisfies a term is scalars alone; undefined for a term that is not plain. */
  kindOf({ nodes }: Term): 'scalar' | 'any' | undefined {
    const [node] = nodes;
    if (!node) return 'any';
    if (nodes.length > 1 || typeof node.value === 'boolean') return undefined;
    if (!this.#known.has(node)) this.#settle(node);
    const draft = this.#known.get(node);
    return draft && (draft.isScalar ? 'scalar' : 'any');
  }

  /** Finds out about a schema and all that can be reached from it. */
  #settle(first: SchemaNode): void {
    const drafts = this.#read(first);
    const settled = this.#settled(drafts.values());
    const users = new Map<SchemaNode, SchemaNode[]>();
    const rejected = new Set<SchemaNode>();
    for (const [node, draft] of drafts) {
      if (!settled.has(node)) rejected.add(node);
      for (const other of [...(draft?.required ?? []), ...(draft?.optional ?? [])]) {
        add(users, other, node);
        if (!drafts.has(other) && !this.#known.get(other)) rejected.add(other);
      }
    }
    // Grows while it is walked through.
    for (const node of rejected) for (const user of users.get(node) ?? []) rejected.add(user);
    for (const [node, draft] of drafts) this.#known.set(node, rejected.has(node) ? undefined : draft);
  }

  #read(first: SchemaNode): Map<SchemaNode, PlainDraft | undefined> {
    const drafts = new Map<SchemaNode, PlainDraft | undefined>();
    const open = [first];
    for (let node = open.pop(); node; node = open.pop()) {
      if (drafts.has(node) || this.#known.has(node)) continue;
      this.#expander.fuel.spend(1);
      const draft = plainDraft(node, this.#expander);
      drafts.set(node, draft);
      if (draft) open.push(...draft.required, ...draft.optional);
    }
    return drafts;
  }

  /** The schemas of which all is known that a value of theirs has to have: what would have to hold itself is never among them. */
  #settled(drafts: Iterable<PlainDraft | undefined>): Set<SchemaNode> {
    const waiting = new Map<SchemaNode, PlainDraft[]>();
    const missing = new Map<PlainDraft, number>();
    const ready: PlainDraft[] = [];
    for (const draft of drafts) {
      if (!draft) continue;
      const open = draft.required.filter((other) => !this.#known.get(other));
      for (const other of open) add(waiting, other, draft);
      missing.set(draft, open.length);
      if (open.length === 0) ready.push(draft);
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

/** Adds up what stands in the place of a schema; false where that is too much. */
function takeIn(draft: PlainDraft, inPlace: readonly PlainDraft[]): boolean {
  for (const { weight, depth, isScalar } of inPlace) {
    draft.weight += weight;
    draft.depth = Math.max(draft.depth, depth + 1);
    draft.isScalar &&= isScalar;
  }
  return draft.weight <= MOST_WEIGHT && draft.depth <= MOST_IN_PLACE;
}

function add<Key, Of>(map: Map<Key, Of[]>, key: Key, of: Of): void {
  const known = map.get(key);
  if (known) known.push(of);
  else map.set(key, [of]);
}
