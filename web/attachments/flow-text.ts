import { attribute, xmlEvents } from './xml.ts';

/** Which elements of a kind of document mean what. */
export interface FlowRoles {
  readonly paragraph: readonly string[];
  /** The elements whose text is the document's. */
  readonly text: readonly string[];
  readonly tab: readonly string[];
  readonly line: readonly string[];
  /** The element for spaces, which counts them in `text:c`. */
  readonly spaces?: string;
  readonly cell: readonly string[];
  readonly row: readonly string[];
  /** The element for a slide. */
  readonly page?: string;
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
  return flow.lines.join('\n');
}

class Flow {
  readonly lines: string[] = [];
  readonly #roles: FlowRoles;
  #line = '';
  #row: string[] = [];
  /** How deep in elements whose text counts, and in cells. */
  #texts = 0;
  #cells = 0;
  #pages = 0;

  constructor(roles: FlowRoles) {
    this.#roles = roles;
  }

  text(text: string): void {
    // Line breaks in XML are spaces.
    if (this.#texts > 0) this.#line += text.replaceAll(/[\r\n]+/g, ' ');
  }

  open(name: string, attributes: string): void {
    const { text, tab, line, spaces, cell, page } = this.#roles;
    if (text.includes(name)) this.#texts++;
    if (cell.includes(name)) this.#cells++;
    if (tab.includes(name)) this.#line += '\t';
    if (line.includes(name)) this.#line += this.#cells > 0 ? ' ' : '\n';
    if (name === spaces) this.#line += ' '.repeat(Math.min(80, Number(attribute(attributes, 'text:c') ?? 1)));
    if (name === page) this.lines.push(`${this.#pages > 0 ? '\n' : ''}## ${++this.#pages}`);
  }

  close(name: string): void {
    const { text, paragraph, cell, row } = this.#roles;
    if (text.includes(name)) this.#texts--;
    if (paragraph.includes(name)) {
      if (this.#cells > 0) this.#line += ' ';
      else this.#endLine(this.#line);
    } else if (cell.includes(name)) {
      this.#cells--;
      this.#row.push(this.#line.trim());
      this.#line = '';
    } else if (row.includes(name) && this.#row.length > 0) {
      // Spreadsheets end rows with cells for the rest of the sheet's width.
      const cells = this.#row.slice(0, this.#row.findLastIndex((of) => of !== '') + 1);
      this.#row = [];
      if (cells.length > 0) this.#endLine(cells.join(' | '));
    }
  }

  #endLine(line: string): void {
    this.lines.push(line.trimEnd());
    this.#line = '';
  }
}
