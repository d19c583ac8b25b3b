import type { Regex } from './regex/regex.ts';

/** What a text may be: rules by name, which may refer to each other and to themselves, and the one to begin with. */
export interface Grammar {
  readonly rules: ReadonlyMap<string, Rule>;
  readonly root: string;
}

/** One rule of a context-free grammar whose terminals are regular languages. */
export type Rule =
  /** A terminal: any text of the language. Where it ends is decided by what follows, never by being the longest. */
  | { readonly kind: 'regex'; readonly regex: Regex }
  /**
   * The special token (control or user-defined) that is spelled so, and where the vocabulary has none, this text. Control tokens
   * are allowed nowhere else: a `regex` matches what tokens spell, never a control token.
   */
  | { readonly kind: 'token'; readonly text: string }
  /** The token with this number, which the vocabulary must have. */
  | { readonly kind: 'token-id'; readonly id: number }
  /** Any one token that stands for text, but for those that are spelled so or have these numbers. */
  | { readonly kind: 'any-token'; readonly except: readonly (string | number)[] }
  | { readonly kind: 'sequence'; readonly parts: readonly Rule[] }
  | { readonly kind: 'choice'; readonly parts: readonly Rule[] }
  /** `min` to `max` times the part; `max` may be Infinity. */
  | { readonly kind: 'repeat'; readonly part: Rule; readonly min: number; readonly max: number }
  /** The rule of this name, in the same grammar. */
  | { readonly kind: 'reference'; readonly name: string }
  /** A whole grammar with names of its own. */
  | { readonly kind: 'grammar'; readonly grammar: Grammar }
  /**
   * A whole grammar that is asked for when a text first comes to it: of a thousand members of an object only the values of those are
   * made that are written. It has a text, none that is empty, and its `distinct` terminals are in scopes of its own: nobody looks.
   */
  | { readonly kind: 'later'; readonly grammar: () => Grammar }
  /**
   * A terminal whose text is unlike that of every other `distinct` terminal before it in the innermost `scope` around it: the
   * keys of an object, the items of an array with `uniqueItems`. Only texts that can still become a new one are allowed.
   */
  | { readonly kind: 'distinct'; readonly regex: Regex }
  /**
   * `min` to `max` members, at least one, in this order, each at most once, with the separator between two of them, and after them
   * as many `other` ones. No member's text is the beginning of another's: where a text ends decides which value follows.
   */
  | {
      readonly kind: 'members';
      readonly members: readonly Member[];
      readonly other?: Rule | undefined;
      readonly separator: Rule;
      readonly min: number;
      readonly max: number;
    }
  /** Where `distinct` terminals are compared: each occurrence of the part in a text has memory of its own. */
  | { readonly kind: 'scope'; readonly part: Rule };

/** A member of an object, or of what is like one. */
export interface Member {
  readonly text: string;
  /** What follows the text. */
  readonly value: Rule;
  readonly isRequired: boolean;
}
