import { Lexer, Marked, type MarkedExtension, type Token, type Tokens } from 'marked';

/** A formula in LaTeX, as the model wrote it: Markdown would eat its backslashes and underscores. */
export interface MathToken {
  readonly type: 'math';
  readonly raw: string;
  readonly text: string;
  readonly isBlock: boolean;
}

/** Tokens of answers. */
export type AnswerToken = Token | MathToken;

/** Formulas in a line: `\(…\)`, `$…$` without spaces at its ends and no digit behind, and `$$…$$`. */
const INLINE =
  /^(?:\\\((?<round>[^\n]+?)\\\)|\$\$(?<double>[^$\n]+)\$\$|\$(?<single>[^\s$](?:[^$\n]*[^\s$\\])?)\$(?!\d))/;
/** Formulas of their own: `\[…\]` and `$$…$$`. */
const BLOCK = /^ {0,3}(?:\\\[(?<square>[^]+?)\\\]|\$\$(?<double>[^]+?)\$\$)[ \t]*(?:\n|$)/;

const MATH: MarkedExtension = {
  extensions: [
    {
      name: 'math',
      level: 'block',
      start: (text) => /^ {0,3}(?:\\\[|\$\$)/m.exec(text)?.index,
      tokenizer: (text) => mathToken(BLOCK.exec(text), true),
    },
    {
      name: 'math',
      level: 'inline',
      start: (text) => /\\\(|\$/.exec(text)?.index,
      tokenizer: (text) => mathToken(INLINE.exec(text), false),
    },
  ],
};

function mathToken(match: RegExpExecArray | null, isBlock: boolean): Tokens.Generic | undefined {
  if (!match) return undefined;
  const [text = ''] = Object.values(match.groups ?? {}).filter((group) => group !== undefined);
  return { type: 'math', raw: match[0], text: text.trim(), isBlock } satisfies MathToken;
}

const marked = new Marked({ gfm: true, breaks: true }, MATH);

/** Where the links are that other blocks name. */
export type Links = InstanceType<typeof Lexer>['tokens']['links'];

/** The blocks of a text. `links` are those known so far, and get what this text defines. */
export function blocksOf(text: string, links: Links): AnswerToken[] {
  const lexer = new Lexer({ ...marked.defaults });
  lexer.tokens.links = links;
  return [...lexer.lex(text)];
}
