import type { Regex } from './regex/regex.ts';

/** The allowed texts: rules by name, which may refer to each other and to themselves, and the start rule. */
export interface Grammar {
  readonly rules: ReadonlyMap<string, Rule>;
  readonly root: string;
}

/** One rule of a context-free grammar whose terminals are regular languages. */
export type Rule =
  /** A terminal: any text of the language. What follows decides where it ends; there is no longest match. */
  | { readonly kind: 'regex'; readonly regex: Regex }
  /**
   * The special token (control or user-defined) with this spelling or, if the vocabulary has none, this text. Control
   * tokens are allowed only here: a `regex` matches the text of tokens, never a control token.
   */
  | { readonly kind: 'token'; readonly text: string }
  /** The token with this id, which the vocabulary must have. */
  | { readonly kind: 'token-id'; readonly id: number }
  /** Any one token with text, except those with these spellings or ids. */
  | { readonly kind: 'any-token'; readonly except: readonly (string | number)[] }
  | { readonly kind: 'sequence'; readonly parts: readonly Rule[] }
  | { readonly kind: 'choice'; readonly parts: readonly Rule[] }
  /** `min` to `max` times the part; `max` may be Infinity. */
  | { readonly kind: 'repeat'; readonly part: Rule; readonly min: number; readonly max: number }
  /** The rule of this name, in the same grammar. */
  | { readonly kind: 'reference'; readonly name: string }
  /** A whole grammar with its own rule names. */
  | { readonly kind: 'grammar'; readonly grammar: Grammar }
  /**
   * A whole grammar that is created when a text first reaches it: of an object with a thousand members, only the values
   * that are written are compiled. It must allow a text, must not allow the empty one, and must have its own scopes for
   * `distinct` terminals: this is not checked.
   */
  | { readonly kind: 'later'; readonly grammar: () => Grammar }
  /**
   * A terminal whose text differs from that of every earlier `distinct` terminal in the innermost enclosing `scope`:
   * the keys of an object, the items of an array with `uniqueItems`. Only texts that can still become a new one are
   * allowed.
   */
  | { readonly kind: 'distinct'; readonly regex: Regex }
  /**
   * `min` to `max` members, at least one, in this order, each at most once, with the separator between them, followed
   * by any number of `other` members. No member's text may be a prefix of another's: where a text ends decides which
   * value follows.
   */
  | {
      readonly kind: 'members';
      readonly members: readonly Member[];
      readonly other?: Rule | undefined;
      readonly separator: Rule;
      readonly min: number;
      readonly max: number;
    }
  /** The scope in which `distinct` terminals are compared: each occurrence in a text has its own memory. */
  | { readonly kind: 'scope'; readonly part: Rule };

/** A member of an object, or of something similar. */
export interface Member {
  readonly text: string;
  /** What follows the text. */
  readonly value: Rule;
  readonly isRequired: boolean;
}
