import { UnreadableFile } from './unreadable-file.ts';
import { attribute, xmlEvents } from './xml.ts';

/** The columns of a sheet, and rows that are alike, beyond which a file is no document. */
const MOST_COLUMNS = 16_384;
const MOST_ROWS = 2 ** 20;
/** Characters of the cells and rows that are there several times, together: a few bytes may ask for gigabytes. */
const MOST_REPEATED = 2 ** 24;

/** Which elements of a kind of document mean what. */
export interface FlowRoles {
  readonly paragraph: readonly string[];
  /** The elements whose text is the document's. */
  readonly text: readonly string[];
  readonly tab: readonly string[];
  readonly line: readonly string[];
  /** The element for spaces, which counts them in `text:c`. */
  readonly spaces?: string;
  /** Elements for cells and rows, which may count how often they are there. */
  readonly cell: readonly string[];
  readonly row: readonly string[];
  /** Attributes that count cells and rows. */
  readonly repeated?: { readonly cell: string; readonly row: string };
  /** The element for a slide or a sheet, and the attribute with its name; slides are counted. */
  readonly page?: string;
  readonly pageName?: string;
  /** The element for a note, whose text comes behind all other. */
  readonly note?: string;
  /** Elements with all that is in them. */
  readonly skip: readonly string[];
}

/** The text of a document: a line for a paragraph, and one for a row of a table, its cells between bars. */
export function flowText(xml: string, roles: FlowRoles): string {
  const flow = new Flow(roles);
  let skipped = 0;
  for (const event of xmlEvents(xml)) {
    if (event.kind === 'text') {
      if (skipped === 0) flow.text(event.text);
    } else if (event.kind === 'open') {
      if (skipped > 0 || roles.skip.includes(event.name)) skipped++;
      else flow.open(event.name, event.attributes);
    } else if (skipped > 0) skipped--;
    else flow.close(event.name);
  }
  return flow.whole;
}

class Flow {
  readonly #roles: FlowRoles;
  readonly #lines: string[] = [];
  readonly #notes: string[] = [];
  #line = '';
  #row: string[] = [];
  /** Empty cells since the last one with a text: sheets end rows with as many as they are wide. */
  #empty = 0;
  /** How often the cell and the row are there that are open. */
  #cellTimes = 1;
  #rowTimes = 1;
  /** Characters of what was repeated so far. */
  #repeated = 0;
  /** How deep in elements whose text counts, and in cells. */
  #texts = 0;
  #cells = 0;
  #pages = 0;
  /** What a note interrupts. */
  #interrupted: { line: string; texts: number } | undefined;

  constructor(roles: FlowRoles) {
    this.#roles = roles;
  }

  get whole(): string {
    const notes = this.#notes.length > 0 ? ['', ...this.#notes] : [];
    return [...this.#lines, ...notes].join('\n');
  }

  text(text: string): void {
    // Line breaks in XML are spaces.
    if (this.#texts > 0) this.#line += text.replaceAll(/[\r\n]+/g, ' ');
  }

  open(name: string, attributes: string): void {
    const { text, tab, line, spaces, cell, row, repeated, page, note } = this.#roles;
    if (text.includes(name)) this.#texts++;
    if (cell.includes(name)) {
      this.#cells++;
      this.#cellTimes = timesIn(attributes, repeated?.cell, MOST_COLUMNS);
    }
    if (row.includes(name)) this.#rowTimes = timesIn(attributes, repeated?.row, MOST_ROWS);
    if (tab.includes(name)) this.#line += '\t';
    if (line.includes(name)) this.#line += this.#cells > 0 ? ' ' : '\n';
    if (name === spaces) this.#line += ' '.repeat(Math.min(80, Number(attribute(attributes, 'text:c') ?? 1)));
    if (name === page) this.#beginPage(attributes);
    if (name === note) {
      this.#interrupted = { line: this.#line, texts: this.#texts };
      [this.#line, this.#texts] = ['', 0];
    }
  }

  close(name: string): void {
    const { text, paragraph, cell, row, note } = this.#roles;
    if (text.includes(name)) this.#texts--;
    if (paragraph.includes(name)) {
      if (this.#interrupted || this.#cells > 0) this.#line += ' ';
      else this.#endLine(this.#line);
    } else if (cell.includes(name)) this.#endCell();
    else if (row.includes(name)) this.#endRow();
    else if (name === note && this.#interrupted) {
      this.#notes.push(this.#line.trim());
      ({ line: this.#line, texts: this.#texts } = this.#interrupted);
      this.#interrupted = undefined;
    }
  }

  #beginPage(attributes: string): void {
    const { pageName } = this.#roles;
    const before = this.#pages++ > 0 ? '\n' : '';
    const name = pageName === undefined ? this.#pages : (attribute(attributes, pageName) ?? '');
    this.#lines.push(`${before}## ${name}`);
  }

  #endCell(): void {
    this.#cells--;
    const value = this.#line.trim();
    this.#line = '';
    if (value === '') {
      this.#empty += this.#cellTimes;
      return;
    }
    if (this.#row.length + this.#empty + this.#cellTimes > MOST_COLUMNS) throw new UnreadableFile('broken');
    this.#repeat(this.#cellTimes, value);
    for (; this.#empty > 0; this.#empty--) this.#row.push('');
    for (let time = 0; time < this.#cellTimes; time++) this.#row.push(value);
  }

  #endRow(): void {
    this.#empty = 0;
    if (this.#row.length === 0) return;
    const line = this.#row.join(' | ');
    this.#row = [];
    this.#repeat(this.#rowTimes, line);
    for (let time = 0; time < this.#rowTimes; time++) this.#endLine(line);
  }

  /** Counts what is there so many times. */
  #repeat(times: number, { length }: string): void {
    this.#repeated += (times - 1) * (length + 1);
    if (this.#repeated > MOST_REPEATED) throw new UnreadableFile('large');
  }

  #endLine(line: string): void {
    this.#lines.push(line.trimEnd());
    this.#line = '';
  }
}

/** How often an element is there, by one of its attributes. */
function timesIn(attributes: string, name: string | undefined, most: number): number {
  const times = Number((name !== undefined && attribute(attributes, name)) || 1);
  if (!(times >= 1 && times <= most)) throw new UnreadableFile('broken');
  return times;
}
