import type { Archive } from './archive.ts';
import { flowText, type FlowRoles } from './flow-text.ts';
import { partsInOrder } from './parts.ts';
import { spreadsheetText } from './spreadsheet.ts';
import { UnreadableFile } from './unreadable-file.ts';

/** Word's documents (ECMA-376, WordprocessingML). What was deleted with changes tracked is not in `w:t`. */
const WORD: FlowRoles = {
  paragraph: ['w:p'],
  text: ['w:t'],
  tab: ['w:tab'],
  line: ['w:br', 'w:cr'],
  cell: ['w:tc'],
  row: ['w:tr'],
  // Tab stops of a style are no tabs, and older forms of drawings say again what the newer ones do.
  skip: ['w:tabs', 'mc:Fallback'],
};

/** Slides (ECMA-376, DrawingML). */
const SLIDE: FlowRoles = {
  paragraph: ['a:p'],
  text: ['a:t'],
  tab: ['a:tab'],
  line: ['a:br'],
  cell: ['a:tc'],
  row: ['a:tr'],
  skip: ['mc:Fallback'],
};

/** OpenDocument (OASIS): all text of paragraphs counts. */
const OPEN_DOCUMENT: FlowRoles = {
  paragraph: ['text:p', 'text:h'],
  text: ['text:p', 'text:h'],
  tab: ['text:tab'],
  line: ['text:line-break'],
  spaces: 'text:s',
  cell: ['table:table-cell', 'table:covered-table-cell'],
  row: ['table:table-row'],
  repeated: { cell: 'table:number-columns-repeated', row: 'table:number-rows-repeated' },
  page: 'draw:page',
  note: 'text:note-body',
  skip: [
    'text:tracked-changes',
    'text:note-citation',
    'office:annotation',
    'office:forms',
    'presentation:notes',
  ],
};

const OPEN_SPREADSHEET: FlowRoles = { ...OPEN_DOCUMENT, page: 'table:table', pageName: 'table:name' };

/** The text of an office document: Word's, Excel's and PowerPoint's since 2007, and OpenDocument's. Throws `UnreadableFile`. */
export async function officeText(archive: Archive): Promise<string> {
  const word = await archive.text('word/document.xml');
  if (word !== undefined) return wordText(archive, word);
  if (archive.has('xl/workbook.xml')) return spreadsheetText(archive);
  if (archive.has('ppt/presentation.xml')) return presentationText(archive);
  const type = await archive.text('mimetype');
  const open = await archive.text('content.xml');
  if (open === undefined || !type?.startsWith('application/vnd.oasis.opendocument'))
    throw new UnreadableFile('unknown');
  const manifest = (await archive.text('META-INF/manifest.xml')) ?? '';
  if (/:encryption-data[\s>]/.test(manifest)) throw new UnreadableFile('protected');
  return flowText(open, type.includes('spreadsheet') ? OPEN_SPREADSHEET : OPEN_DOCUMENT);
}

async function wordText(archive: Archive, document: string): Promise<string> {
  const notes = await Promise.all(['footnotes', 'endnotes'].map((name) => archive.text(`word/${name}.xml`)));
  return [document, ...notes]
    .map((xml) => flowText(xml ?? '', WORD).trim())
    .filter((text) => text !== '')
    .join('\n\n');
}

async function presentationText(archive: Archive): Promise<string> {
  const slides: string[] = [];
  for (const path of await partsInOrder(archive, 'ppt/presentation.xml', 'p:sldId')) {
    const xml = await archive.text(path);
    if (xml === undefined) throw new UnreadableFile('broken');
    slides.push(`## ${slides.length + 1}\n${flowText(xml, SLIDE)}`);
  }
  return slides.join('\n\n');
}
