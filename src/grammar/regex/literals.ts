import type { Language } from './language-kinds.ts';
import type { Languages } from './languages.ts';

/** A place of the tree that is still open: the texts behind it begin with bytes above the ones here. */
interface OpenPlace {
  accepts: boolean;
  readonly parts: Language[];
  /** The byte that leads to the next open place. */
  next: number;
}

/**
 * Any of the texts, as a tree by their bytes whose equal ends are one (Daciuk and others 2000): a thousand names cost a step
 * each, and their derivative looks at no more alternatives than there are next bytes.
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

function close(languages: Languages, { accepts, parts }: OpenPlace): Language {
  return languages.or(accepts ? [...parts, languages.empty] : parts);
}

function sharedLength(a: Uint8Array, b: Uint8Array): number {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && a[length] === b[length]) length++;
  return length;
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const shared = sharedLength(a, b);
  return (a[shared] ?? -1) - (b[shared] ?? -1);
}
