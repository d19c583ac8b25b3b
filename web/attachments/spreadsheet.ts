import type { Archive } from './archive.ts';
import { partsInOrder } from './parts.ts';
import { UnreadableFile } from './unreadable-file.ts';
import { attribute, xmlEvents } from './xml.ts';

/** Formats of dates that every Excel has, by number (ECMA-376, 18.8.30; those of Chinese and Japanese versions, too). */
const isBuiltInDate = (id: number) =>
  (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 47) || (id >= 50 && id <= 58);

const DAY_MILLISECONDS = 86_400_000;
/** The day before the first one: Excel counts 29 February 1900, which never was. */
const EPOCH = Date.UTC(1899, 11, 30);
const EPOCH_1904 = Date.UTC(1904, 0, 1);
/** The columns of a sheet, by Excel's own limit. */
const MOST_COLUMNS = 16_384;

/** How the number of a cell is read. */
type NumberKind = 'number' | 'date' | 'percent';

/** What cells refer to. */
interface Workbook {
  readonly strings: readonly string[];
  /** How numbers in cells of a style are read. */
  readonly kinds: readonly NumberKind[];
  readonly epoch: number;
}

/** The sheets of an Excel workbook (ECMA-376, SpreadsheetML): a line for a row, cells between bars, values as they were computed. */
export async function spreadsheetText(archive: Archive): Promise<string> {
  const main = (await archive.text('xl/workbook.xml')) ?? '';
  const workbook: Workbook = {
    strings: sharedStrings((await archive.text('xl/sharedStrings.xml')) ?? ''),
    kinds: numberKinds((await archive.text('xl/styles.xml')) ?? ''),
    epoch: /\sdate1904\s*=\s*["'](?:1|true)["']/.test(main) ? EPOCH_1904 : EPOCH,
  };
  const names = [...xmlEvents(main)].flatMap((event) =>
    event.kind === 'open' && event.name === 'sheet' ? [attribute(event.attributes, 'name') ?? ''] : [],
  );
  const sheets: string[] = [];
  for (const [at, path] of (await partsInOrder(archive, 'xl/workbook.xml', 'sheet')).entries()) {
    const xml = await archive.text(path);
    if (xml === undefined) throw new UnreadableFile('broken');
    sheets.push([`## ${names[at] ?? ''}`, ...rowsOf(xml, workbook)].join('\n'));
  }
  return sheets.join('\n\n');
}

/** Texts that cells share; how Japanese ones are pronounced is left out. */
function sharedStrings(xml: string): string[] {
  const strings: string[] = [];
  let [text, isText, isSpoken] = ['', false, false];
  for (const event of xmlEvents(xml)) {
    if (event.kind === 'text') text += isText && !isSpoken ? event.text : '';
    else if (event.name === 't') isText = event.kind === 'open';
    else if (event.name === 'rPh') isSpoken = event.kind === 'open';
    else if (event.name === 'si' && event.kind === 'open') text = '';
    else if (event.name === 'si') strings.push(text);
  }
  return strings;
}

/** How numbers in cells of each style are read. */
function numberKinds(xml: string): NumberKind[] {
  const own = new Map<number, NumberKind>();
  const styles: NumberKind[] = [];
  let isCell = false;
  for (const event of xmlEvents(xml)) {
    if (event.kind === 'text') continue;
    if (event.name === 'cellXfs') isCell = event.kind === 'open';
    if (event.kind === 'close') continue;
    const id = Number(attribute(event.attributes, 'numFmtId'));
    if (event.name === 'numFmt') own.set(id, kindOfFormat(attribute(event.attributes, 'formatCode') ?? ''));
    else if (event.name === 'xf' && isCell) styles.push(own.get(id) ?? builtInKind(id));
  }
  return styles;
}

/** Whether a format has a percent sign or parts of a date outside of what it quotes, and of colours and conditions. */
function kindOfFormat(code: string): NumberKind {
  const plain = code.replaceAll(/"[^"]*"|\\.|\[(?!h+\]|m+\]|s+\])[^\]]*\]/gi, '');
  if (plain.includes('%')) return 'percent';
  return /[dmyhs]/i.test(plain) ? 'date' : 'number';
}

function builtInKind(id: number): NumberKind {
  if (id === 9 || id === 10) return 'percent';
  return isBuiltInDate(id) ? 'date' : 'number';
}

interface Cell {
  column: number;
  type: string;
  style: number;
  value: string;
}

function rowsOf(xml: string, workbook: Workbook): string[] {
  const rows: string[] = [];
  let row: string[] = [];
  let cell: Cell | undefined;
  let isValue = false;
  for (const event of xmlEvents(xml)) {
    if (event.kind === 'text') {
      if (cell && isValue) cell.value += event.text;
    } else if (event.name === 'row') {
      if (event.kind === 'close' && row.length > 0) rows.push(row.join(' | '));
      row = [];
    } else if (event.name === 'v' || event.name === 't') isValue = event.kind === 'open';
    else if (event.name === 'c' && event.kind === 'open') cell = cellOf(event.attributes, row.length);
    else if (event.name === 'c' && cell) {
      while (row.length < cell.column) row.push('');
      row.push(shown(cell, workbook));
      cell = undefined;
    }
  }
  return rows;
}

/** A cell before its value; without a place of its own it stands behind the last. */
function cellOf(attributes: string, next: number): Cell {
  const letters = /^[A-Z]+/.exec(attribute(attributes, 'r') ?? '')?.[0];
  const column = letters ? [...letters].reduce((sum, of) => sum * 26 + of.charCodeAt(0) - 64, 0) - 1 : next;
  if (column >= MOST_COLUMNS) throw new UnreadableFile('broken');
  const type = attribute(attributes, 't') ?? 'n';
  return { column, type, style: Number(attribute(attributes, 's') ?? 0), value: '' };
}

function shown({ type, style, value }: Cell, { strings, kinds, epoch }: Workbook): string {
  if (type === 's') return oneLine(strings[Number(value)] ?? '');
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE';
  const kind = kinds[style] ?? 'number';
  if (type !== 'n' || value === '' || kind === 'number') return oneLine(value);
  // As many digits as a double has for sure.
  if (kind === 'percent') return `${Number((Number(value) * 100).toPrecision(15))}%`;
  const days = Number(value);
  const date = new Date(epoch + Math.round((days * DAY_MILLISECONDS) / 1000) * 1000);
  if (Number.isNaN(date.getTime())) return oneLine(value);
  const text = date.toISOString();
  if (days < 1) return text.slice(11, 19);
  return days % 1 === 0 ? text.slice(0, 10) : text.slice(0, 19).replace('T', ' ');
}

function oneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ');
}
