import { Lexer, Marked, type MarkedExtension, type Token, type Tokens } from 'marked';

/** A formula in LaTeX, as the model wrote it: Markdown would eat its backslashes and underscores. */
export interface MathToken {
  readonly type: 'math';
  readonly raw: string;
  readonly text: string;
  readonly isBlock: boolean;
}

/** What begins as a formula of its own and is none, or none yet. */
export interface OpenMathToken {
  readonly type: 'open-math';
  readonly raw: string;
  readonly tokens: Token[];
}

/** Tokens of answers. */
export type AnswerToken = Token | MathToken | OpenMathToken;

/** Formulas in a line: `\(…\)`, `$…$` without spaces at its ends and no digit behind, and `$$…$$`. */
const INLINE =
  /^(?:\\\((?<round>[^\n]+?)\\\)|\$\$(?<double>[^$\n]+)\$\$|\$(?<single>[^\s$](?:[^$\n]*[^\s$\\])?)\$(?!\d))/;
/** Formulas of their own: `\[…\]` and `$$…$$`, without an empty line, as LaTeX has it. */
const BLOCK =
  /^ {0,3}(?:\\\[(?<square>(?:(?!\\\]|\n[ \t]*\n)[^])+)\\\]|\$\$(?!\$)(?<double>(?:(?!\$\$|\n[ \t]*\n)[^])+)\$\$)[ \t]*(?:\n|$)/;
/** What begins so, to the end of the line with its end, or to an empty line: nothing else begins where a formula may go on. */
const OPEN_BLOCK =
  /^ {0,3}(?:\\\[(?:(?!\\\]|\n[ \t]*\n)[^])*(?:\\\][^\n]*)?|\$\$(?:(?!\$\$|\n[ \t]*\n)[^])*(?:\$\$[^\n]*)?)(?:\n|$)/;
const EMPTY_LINE = /\n[ \t]*\n/;
const BEGINS_BLOCK = /\n {0,3}(?:\\\[|\$\$)/;

const MATH: MarkedExtension = {
  extensions: [
    {
      name: 'math',
      level: 'block',
      // It is asked what ends a paragraph, of the text behind its first character.
      start: (text) => {
        const at = BEGINS_BLOCK.exec(text)?.index;
        return at === undefined ? undefined : at + 1;
      },
      tokenizer(text) {
        const made = mathToken(BLOCK.exec(text), true);
        const [raw] = made ? [] : (OPEN_BLOCK.exec(text) ?? []);
        return raw === undefined ? made : { type: 'open-math', raw, tokens: this.lexer.inline(raw.trim()) };
      },
    },
    {
      name: 'math',
      level: 'inline',
      start: (text) => /\\\(|\$/.exec(text)?.index,
      tokenizer: (text) => mathToken(INLINE.exec(text), false),
    },
  ],
  tokenizer: {
    // A line of "=" in a formula does not make its beginning a heading.
    lheading(text) {
      const [heading = ''] = this.rules.block.lheading.exec(text) ?? [];
      return BEGINS_BLOCK.test(heading) ? undefined : false;
    },
    // An empty line ends a definition.
    def(text) {
      const [definition = ''] = this.rules.block.def.exec(text) ?? [];
      return EMPTY_LINE.test(definition.trimEnd()) ? undefined : false;
    },
  },
};

function mathToken(match: RegExpExecArray | null, isBlock: boolean): Tokens.Generic | undefined {
  if (!match) return undefined;
  const [text = ''] = Object.values(match.groups ?? {}).filter((group) => group !== undefined);
  return { type: 'math', raw: match[0], text: text.trim(), isBlock } satisfies MathToken;
}

const marked = new Marked({ gfm: true, breaks: true }, MATH);

/** Where the links are that other blocks name. */
export type Links = InstanceType<typeof Lexer>['tokens']['links'];

/** Spaces at the ends of lines. */
const TRAILING = /(?<![^\S\n])[^\S\n]+$/gm;

/**
 * A text of the same length, as the lexer can read it: what is no space in Markdown is one at the end of a line, where the lexer
 * takes it for one or not as it comes.
 */
export function plainLines(text: string): string {
  return text.replaceAll(TRAILING, (spaces) => spaces.replaceAll(/[^ \t]/g, ' '));
}

/** Texts of paragraphs are read in pieces of so many characters: what it takes to read one may grow with the square of its length. */
const PIECE = 4000;

class PieceLexer extends Lexer {
  override inlineTokens(text: string, tokens: Token[] = []): Token[] {
    for (const piece of piecesOf(text)) super.inlineTokens(piece, tokens);
    return tokens;
  }
}

/** Pieces that end with words, where there are any. */
function* piecesOf(text: string): Generator<string, void> {
  let begin = 0;
  while (text.length - begin > PIECE) {
    const space = text.lastIndexOf(' ', begin + PIECE);
    const end = space > begin ? space : begin + PIECE;
    yield text.slice(begin, end);
    begin = end;
  }
  yield text.slice(begin);
}

/**
 * The blocks of a text. `links` are those known so far, and get what this text defines. A text that is nested too deep to be read is a
 * paragraph as it stands.
 */
export function blocksOf(text: string, links: Links): AnswerToken[] {
  const lexer = new PieceLexer({ ...marked.defaults });
  lexer.tokens.links = links;
  try {
    return [...lexer.lex(text)];
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const tokens: Token[] = [{ type: 'text', raw: text, text, escaped: false }];
    return [{ type: 'paragraph', raw: text, text, tokens }];
  }
}

/** Whether a token is nothing but space between blocks. */
export function isBlank({ raw }: AnswerToken): boolean {
  return raw.trim() === '';
}
