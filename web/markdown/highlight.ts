/** What a piece of code is, as classes say it. */
type Kind = 'comment' | 'string' | 'number' | 'keyword' | 'function';

interface Piece {
  readonly begin: number;
  readonly end: number;
  readonly kind: Kind;
}

const MARKUP = /^(?:html|xml|svg|vue)$/;

/** Comments of languages; those that are not named have those of C. */
const HASH = /#.*/;
const C_LIKE = /\/\/.*|\/\*[^]*?(?:\*\/|$)/;
const COMMENTS: readonly (readonly [RegExp, RegExp])[] = [
  [
    /^(?:python|py|sh|bash|shell|zsh|console|ruby|rb|perl|pl|r|ya?ml|toml|make(?:file)?|dockerfile|elixir|ex|julia|jl|nim|tcl|powershell|ps1|conf|ini)$/,
    HASH,
  ],
  [/^(?:sql|lua|haskell|hs|ada|vhdl|elm)$/, /--.*/],
  [MARKUP, /<!--[^]*?(?:-->|$)/],
  [/^(?:lisp|clojure|clj|scheme|asm|nasm)$/, /;.*/],
  [/^(?:tex|latex|matlab|erlang|erl|prolog)$/, /%.*/],
  [/^css$/, /\/\*[^]*?(?:\*\/|$)/],
  [/^php$/, /\/\/.*|#.*|\/\*[^]*?(?:\*\/|$)/],
];

/** Languages of which nothing is known to be coloured: their words are not code. */
const PLAIN = /^(?:|text|txt|plain(?:text)?|output|log|csv|diff|markdown|md)$/;

/** Words with a meaning of their own in most languages that are written in answers. */
const KEYWORDS = new Set(
  (
    'abstract and as assert async await begin bool boolean break byte case catch char class const constexpr continue crate def default ' +
    'defer del delete do double elif else elseif elsif end enum except export extends extern false False final finally float fn for ' +
    'foreach from func function global go goto if impl implements import in include inline instanceof int interface is lambda let local ' +
    'long loop match mod module move mut namespace new nil None not null nullptr of or override package pass private protected pub ' +
    'public raise readonly ref require return self short signed sizeof static string struct super switch template then this throw ' +
    'throws trait true True try type typedef typeof union unless unsafe unsigned until use using val var virtual void volatile when ' +
    'where while with yield echo fi done esac'
  ).split(' '),
);

const SQL_KEYWORDS = new Set(
  (
    'select insert update delete create alter drop table view index into values from where group order by having join left right inner ' +
    'outer cross on as and or not in is null like between exists union all distinct limit offset set primary key foreign references ' +
    'default case when then else end with returning begin commit rollback'
  ).split(' '),
);

const STRING =
  /"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:[^"\\\n]|\\.)*"?|`(?:[^`\\]|\\[^])*`?|'(?:[^'\\\n]|\\.)*'/;
const NUMBER = /\b0[xob][\da-f_]+|\b\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?/;
const WORD = /[\p{L}_$@][\p{L}\p{N}_$]*/u;
/** In markup only the names of elements are words of the language. */
const TAG = /<\/?[\w:-]+/;

/** The pieces of code that have a colour, in order: by rules that most languages share, and the comments of this one. */
function piecesOf(code: string, language: string): Piece[] {
  const [, comment] = COMMENTS.find(([names]) => names.test(language)) ?? [/./, C_LIKE];
  const isMarkup = MARKUP.test(language);
  const groups = [comment, STRING, NUMBER, isMarkup ? TAG : WORD].map(({ source }) => `(${source})`);
  const isSql = language === 'sql';
  const pieces: Piece[] = [];
  for (const match of code.matchAll(new RegExp(groups.join('|'), 'giu'))) {
    const [text, comments, string, number] = match;
    const end = match.index + text.length;
    let kind: Kind | undefined = comments ? 'comment' : string ? 'string' : number ? 'number' : undefined;
    if (!kind && isMarkup) kind = 'keyword';
    else if (!kind && (isSql ? SQL_KEYWORDS.has(text.toLowerCase()) : KEYWORDS.has(text))) kind = 'keyword';
    else if (!kind && code[end] === '(') kind = 'function';
    if (kind) pieces.push({ begin: match.index, end, kind });
  }
  return pieces;
}

/** How long a part of the work may take, in milliseconds, before the page goes on with something else. */
const SLICE = 8;

/**
 * Colours the code of a block chunk by chunk, each once, as soon as its text does not change any more. What is open at the end of
 * a chunk, such as a comment, goes on in the next one.
 */
export class CodeColours {
  readonly #language: string;
  /** What a piece that may go on began with. */
  #open = '';

  constructor(language: string) {
    this.#language = language.toLowerCase();
  }

  /** The same, to colour what may still change. */
  fork(): CodeColours {
    const forked = new CodeColours(this.#language);
    forked.#open = this.#open;
    return forked;
  }

  /** Colours the next chunk. One with a selection in it stays as it is. */
  colour(chunk: HTMLElement): void {
    if (PLAIN.test(this.#language)) return;
    const text = chunk.textContent ?? '';
    const before = this.#open.length;
    const code = this.#open + text;
    const nodes: Node[] = [];
    let written = before;
    for (const { begin, end, kind } of piecesOf(code, this.#language)) {
      const from = Math.max(begin, before);
      if (from > written) nodes.push(document.createTextNode(code.slice(written, from)));
      nodes.push(coloured(code.slice(from, end), kind));
      written = end;
      this.#open = end === code.length ? code.slice(begin) : '';
    }
    if (written < code.length) {
      nodes.push(document.createTextNode(code.slice(written)));
      this.#open = '';
    }
    if (!isSelected(chunk)) chunk.replaceChildren(...nodes);
  }
}

/** Colours the finished code of a block in slices of time. Code that changes meanwhile is another block's. */
export async function highlight(chunks: readonly HTMLElement[], language: string): Promise<void> {
  const colours = new CodeColours(language);
  const texts = chunks.map((chunk) => chunk.textContent);
  let begin = performance.now();
  for (const [at, chunk] of chunks.entries()) {
    if (chunk.textContent !== texts[at]) return;
    colours.colour(chunk);
    if (performance.now() - begin < SLICE) continue;
    await new Promise((resolve) => setTimeout(resolve));
    begin = performance.now();
  }
}

function coloured(text: string, kind: Kind): HTMLElement {
  const span = document.createElement('span');
  span.className = `code-${kind}`;
  span.textContent = text;
  return span;
}

function isSelected(chunk: HTMLElement): boolean {
  const selection = getSelection();
  return selection !== null && !selection.isCollapsed && selection.containsNode(chunk, true);
}
