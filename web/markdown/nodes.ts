import type { Tokens } from 'marked';
import type { AnswerToken, MathToken, OpenMathToken } from './lexer.ts';

/** Makes the controls of a code block in a language, `''` if it says none. */
export type CodeTools = (code: HTMLElement, language: string) => Node;

/** Elements that models write as HTML and that only change how text looks. All other HTML is shown as it is written. */
const PLAIN_TAGS = new Set([
  'b',
  'i',
  'u',
  's',
  'sub',
  'sup',
  'kbd',
  'mark',
  'em',
  'strong',
  'small',
  'del',
  'ins',
]);

/** Lines of code that are laid out together: a block that grows lays out the last of these only. */
export const CHUNK_LINES = 40;

/** Schemes of links; others could run code. */
const SCHEMES = new Set(['http:', 'https:', 'mailto:']);

/** How deep elements are in each other: browsers fail, or crash, where they are much deeper. What is deeper is shown as it is written. */
const MOST_DEPTH = 40;

/** Elements for blocks. Nothing is parsed as HTML: a page that forbids that shows them, and no answer can add what is not here. */
export function blockNodes(tokens: readonly AnswerToken[], tools: CodeTools, depth = 0): Node[] {
  return tokens.flatMap((token) => blockNode(token, tools, depth) ?? []);
}

function blockNode(given: AnswerToken, tools: CodeTools, depth: number): Node | undefined {
  const token = given as MarkedBlock;
  if (depth > MOST_DEPTH) return element('p', [document.createTextNode(token.raw)]);
  switch (token.type) {
    case 'heading':
      return element(`h${Math.min(6, token.depth + 1)}`, inlineNodes(token.tokens));
    case 'paragraph':
    case 'open-math':
      return element('p', inlineNodes(token.tokens));
    case 'text':
      return element('p', token.tokens ? inlineNodes(token.tokens) : [plain(token.text)]);
    case 'code':
      return codeBlock(token, tools);
    case 'blockquote':
      return element('blockquote', blockNodes(token.tokens, tools, depth + 1));
    case 'list':
      return list(token, tools, depth);
    case 'table':
      return table(token);
    case 'hr':
      return element('hr');
    case 'math':
      return element('pre', [element('code', [document.createTextNode(token.text)])], {
        class: 'math',
        tabindex: '0',
      });
    case 'html':
      return element('p', [document.createTextNode(token.raw)]);
    default:
      // Empty lines, and definitions of links.
      return undefined;
  }
}

type MarkedBlock =
  | Tokens.Heading
  | Tokens.Paragraph
  | Tokens.Text
  | Tokens.Code
  | Tokens.Blockquote
  | Tokens.List
  | Tokens.Table
  | Tokens.Hr
  | Tokens.HTML
  | Tokens.Space
  | Tokens.Def
  | MathToken
  | OpenMathToken;

/**
 * The items of a list, which may be one that goes on. Whether a list has empty lines between its items, which is known at its end
 * only, changes nothing: an item with one paragraph is that text, one with several has paragraphs.
 */
export function listItems({ items }: Pick<Tokens.List, 'items'>, tools: CodeTools, depth = 0): HTMLElement[] {
  return items.map((item) => {
    const isOne = item.tokens.filter(isText).length < 2;
    const content = item.tokens.flatMap((token) =>
      isOne && isText(token) && token.tokens
        ? inlineNodes(token.tokens)
        : blockNodes([token], tools, depth + 1),
    );
    if (!item.task) return element('li', content);
    const box = element('input', [], {
      type: 'checkbox',
      disabled: '',
      ...(item.checked && { checked: '' }),
    });
    box.setAttribute('aria-label', item.checked ? '☑' : '☐');
    return element('li', [box, ...content], { class: 'task' });
  });
}

function isText(token: AnswerToken): token is Tokens.Text | Tokens.Paragraph {
  return token.type === 'text' || token.type === 'paragraph';
}

function list(token: Tokens.List, tools: CodeTools, depth: number): HTMLElement {
  const made = listElement(token);
  made.append(...listItems(token, tools, depth));
  return made;
}

/** A list without its items. */
export function listElement({ ordered, start }: Pick<Tokens.List, 'ordered' | 'start'>): HTMLElement {
  const begin = ordered && start !== 1 && start !== '' ? { start: String(start) } : {};
  return element(ordered ? 'ol' : 'ul', [], begin);
}

/** Code in chunks of lines. */
export function codeChunks(text: string): string[] {
  if (text === '') return [];
  const lines = text.split(/(?<=\n)/);
  const chunks: string[] = [];
  for (let at = 0; at < lines.length; at += CHUNK_LINES)
    chunks.push(lines.slice(at, at + CHUNK_LINES).join(''));
  return chunks;
}

/** The language that a block of code says it is in, `''` if it says none. */
export function languageOf(info: string | undefined): string {
  return info?.split(/[\s{]/)[0] ?? '';
}

function codeBlock({ lang, text }: Tokens.Code, tools: CodeTools): HTMLElement {
  const chunks = codeChunks(text).map((chunk) => element('span', [document.createTextNode(chunk)]));
  const code = element('code', chunks);
  const language = languageOf(lang);
  const named = element('span', [document.createTextNode(language)]);
  const head = element('div', [named, tools(code, language)], { class: 'code-head' });
  // It scrolls on its own, by keyboard too.
  return element('div', [head, element('pre', [code], { tabindex: '0' })], { class: 'code' });
}

function table({ header, rows }: Tokens.Table): HTMLElement {
  const cells = (row: readonly Tokens.TableCell[], name: 'th' | 'td') =>
    element(
      'tr',
      row.map(({ tokens, align }) =>
        element(name, inlineNodes(tokens), align ? { class: `align-${align}` } : {}),
      ),
    );
  const body = rows.map((row) => cells(row, 'td'));
  const whole = element('table', [element('thead', [cells(header, 'th')]), element('tbody', body)]);
  return element('div', [whole], { class: 'table', tabindex: '0' });
}

type MarkedInline =
  | Tokens.Text
  | Tokens.Escape
  | Tokens.Strong
  | Tokens.Em
  | Tokens.Del
  | Tokens.Codespan
  | Tokens.Br
  | Tokens.Link
  | Tokens.Image
  | Tokens.Tag
  | Tokens.Checkbox
  | MathToken;

/** Nodes for a line's tokens. Plain HTML elements enclose what is between their tags. */
function inlineNodes(tokens: readonly AnswerToken[], depth = 0): Node[] {
  const stack: { tag: string; nodes: Node[] }[] = [{ tag: '', nodes: [] }];
  for (const token of tokens as readonly MarkedInline[]) {
    const top = stack.at(-1);
    if (!top) break;
    // A task's box says what it does.
    if (token.type === 'checkbox') continue;
    const tag = token.type === 'html' ? /^<(\/?)([a-z]+)\s*\/?>$/i.exec(token.raw) : null;
    const name = tag?.[2]?.toLowerCase() ?? '';
    if (name === 'br') top.nodes.push(element('br'));
    else if (tag && PLAIN_TAGS.has(name) && tag[1] === '' && depth + stack.length <= MOST_DEPTH)
      stack.push({ tag: name, nodes: [] });
    else if (tag && stack.length > 1 && name === top.tag) {
      stack.pop();
      stack.at(-1)?.nodes.push(element(name, top.nodes));
    } else top.nodes.push(inlineNode(token, depth + stack.length));
  }
  // Tags that were not closed end with the line.
  while (stack.length > 1) {
    const { tag, nodes } = stack.pop() ?? { tag: '', nodes: [] };
    stack.at(-1)?.nodes.push(element(tag, nodes));
  }
  return stack[0]?.nodes ?? [];
}

function inlineNode(token: MarkedInline, depth: number): Node {
  if (depth > MOST_DEPTH) return document.createTextNode(token.raw);
  switch (token.type) {
    case 'strong':
    case 'em':
    case 'del':
      return element(token.type, inlineNodes(token.tokens, depth));
    case 'codespan':
      return element('code', [document.createTextNode(token.text)]);
    case 'br':
      return element('br');
    case 'math':
      return element('code', [document.createTextNode(token.text)], { class: 'math' });
    case 'link':
      return link(token.href, inlineNodes(token.tokens, depth));
    case 'image':
      // It would be fetched from wherever the model says: a link tells where that is.
      return link(token.href, [plain(token.text === '' ? token.href : token.text)]);
    case 'text':
      return 'tokens' in token && token.tokens
        ? element('span', inlineNodes(token.tokens, depth))
        : plain(token.text);
    case 'escape':
      return document.createTextNode(token.text);
    default:
      return document.createTextNode(token.raw);
  }
}

/** A link that says where it leads, if that is not what is written on it. */
function link(href: string, content: readonly Node[]): Node {
  const address = addressOf(href);
  const shown = element('a', content);
  if (!address || !SCHEMES.has(address.protocol)) return element('span', content);
  for (const [name, value] of Object.entries({
    href: address.href,
    target: '_blank',
    rel: 'noopener noreferrer',
  }))
    shown.setAttribute(name, value);
  const { host } = address;
  if (host === '' || shown.textContent?.includes(host)) return shown;
  return element('span', [
    shown,
    element('small', [document.createTextNode(` (${host})`)], { class: 'host' }),
  ]);
}

/** Undefined for what is no whole address. */
function addressOf(href: string): URL | undefined {
  try {
    return new URL(href);
  } catch {
    return undefined;
  }
}

/** Named character references that models write. */
const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: '’',
  nbsp: '\u00a0',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  copy: '©',
  times: '×',
  deg: '°',
  rarr: '→',
  larr: '←',
};

/** Text with its character references. */
function plain(text: string): Text {
  const shown = text.replaceAll(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]+));/gi,
    (whole, decimal, hex, name) => {
      if (name) return NAMED[name as string] ?? whole;
      const code = decimal ? Number(decimal) : Number.parseInt(hex as string, 16);
      return code > 0 && code <= 0x10_ffff ? String.fromCodePoint(code) : (whole as string);
    },
  );
  return document.createTextNode(shown);
}

function element(
  name: string,
  content: readonly Node[] = [],
  attributes: Record<string, string> = {},
): HTMLElement {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...content);
  return made;
}
