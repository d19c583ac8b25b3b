import { compareBytes, sharedLength } from './byte-order.ts';
import { Kind, type Language } from './language-kinds.ts';
import type { Languages } from './languages.ts';

/** A node of the tree that is still open: all further texts below it begin with greater bytes. */
interface OpenPlace {
  accepts: boolean;
  readonly parts: Language[];
  /** The byte that leads to the next open node. */
  next: number;
}

/**
 * Any of the texts, as a trie with merged suffixes (Daciuk and others 2000): a thousand names cost one step each, and a
 * derivative considers no more alternatives than there are next bytes.
 */
export function anyOf(languages: Languages, texts: readonly Uint8Array[]): Language {
  const open: OpenPlace[] = [{ accepts: false, parts: [], next: 0 }];
  const closeTo = (depth: number): void => {
    while (open.length > depth + 1) {
      const language = close(languages, open.pop() as OpenPlace);
      const parent = open.at(-1) as OpenPlace;
      parent.parts.push(languages.concat(languages.bytes(languages.sets.of([parent.next])), language));
    }
  };
  let before = new Uint8Array(0);
  for (const text of [...texts].sort(compareBytes)) {
    const shared = sharedLength(before, text);
    closeTo(shared);
    for (let at = shared; at < text.length; at++) {
      (open.at(-1) as OpenPlace).next = text[at] as number;
      open.push({ accepts: false, parts: [], next: 0 });
    }
    (open.at(-1) as OpenPlace).accepts = true;
    before = Uint8Array.from(text);
    languages.fuel.spend(text.length);
  }
  closeTo(0);
  return close(languages, open[0] as OpenPlace);
}

/** A language made by `anyOf` or this function, with one more text. */
export function withText(languages: Languages, texts: Language, text: Uint8Array): Language {
  const others: Language[][] = [];
  let rest = texts;
  for (const byte of text) {
    const without: Language[] = [];
    let next = languages.never;
    for (const part of languages.partsOf(rest, Kind.or)) {
      const isConcat = languages.kind(part) === Kind.concat;
      const head = isConcat ? languages.member(part, 1) : part;
      const isHere =
        languages.kind(head) === Kind.bytes && languages.sets.has(languages.member(head, 1), byte);
      if (!isHere) {
        without.push(part);
        continue;
      }
      next = isConcat ? languages.member(part, 2) : languages.empty;
      const set = languages.sets.difference(languages.member(head, 1), languages.sets.of([byte]));
      without.push(languages.concat(languages.bytes(set), next));
    }
    others.push(without);
    rest = next;
    languages.fuel.spend(without.length);
  }
  let language = languages.or([rest, languages.empty]);
  for (let at = text.length - 1; at >= 0; at--) {
    const byte = languages.bytes(languages.sets.of([text[at] as number]));
    language = languages.or([...(others[at] as Language[]), languages.concat(byte, language)]);
  }
  return language;
}

function close(languages: Languages, { accepts, parts }: OpenPlace): Language {
  return languages.or(accepts ? [...parts, languages.empty] : parts);
}
