import type * as xgrammar from '@mlc-ai/web-xgrammar';

/** The library that compiles grammars and tells which tokens they allow. */
export type GrammarLibrary = Pick<typeof xgrammar, 'GrammarCompiler' | 'GrammarMatcher' | 'TokenizerInfo'>;

/**
 * An instance of the library with memory of its own. The library is built without exceptions: what it does not like ends
 * the whole instance, which must not be used again then.
 */
export interface GrammarRealm {
  readonly library: GrammarLibrary;
  /** What the library has written since the last call. */
  messages(): string;
}

/** Makes a fresh instance; the platform knows how. */
export type OpenGrammarRealm = () => Promise<GrammarRealm>;
