import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { build } from 'esbuild';
import { zip } from '../support/browser/zip.ts';
import { PROJECT_ROOT } from '../support/project.ts';

type ReadAttachment = (file: File) => Promise<{ readonly name: string; readonly text: string }>;

const relations = (targets: Readonly<Record<string, string>>) =>
  `<Relationships>${Object.entries(targets)
    .map(([id, target]) => `<Relationship Id="${id}" Type="x" Target="${target}"/>`)
    .join('')}</Relationships>`;

const WORD = zip({
  'word/document.xml': `<?xml version="1.0"?><w:document><w:body>
    <w:p><w:pPr><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr><w:r><w:t>Fish &amp; </w:t></w:r><w:r><w:t xml:space="preserve">chips</w:t><w:tab/><w:t>5 &#8364;</w:t></w:r></w:p>
    <w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:t>a</w:t><w:br/><w:t>b</w:t></w:r></w:p>
    <w:tbl><w:tr><w:tc><w:p><w:r><w:t>x</w:t></w:r></w:p><w:p><w:r><w:t>y</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>z</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
  </w:body></w:document>`,
  'word/footnotes.xml':
    '<w:footnotes><w:footnote><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:footnote></w:footnotes>',
});

const EXCEL = zip({
  'xl/workbook.xml': `<workbook><sheets><sheet name="Costs" sheetId="1" r:id="rId2"/><sheet name="More" sheetId="2" r:id="rId1"/></sheets></workbook>`,
  'xl/_rels/workbook.xml.rels': relations({
    rId1: 'worksheets/sheet1.xml',
    rId2: '/xl/worksheets/sheet2.xml',
  }),
  'xl/sharedStrings.xml':
    '<sst><si><t>Name</t></si><si><r><t>Ap</t></r><r><t>ples</t></r><rPh><t>no</t></rPh></si></sst>',
  'xl/styles.xml': `<styleSheet><numFmts><numFmt numFmtId="170" formatCode="[Red]&quot;days&quot;0"/><numFmt numFmtId="171" formatCode="yyyy\\-mm"/></numFmts>
    <cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="170"/><xf numFmtId="171"/><xf numFmtId="22"/></cellXfs></styleSheet>`,
  'xl/worksheets/sheet1.xml':
    '<worksheet><sheetData><row><c t="inlineStr"><is><t>in line</t></is></c><c t="b"><v>1</v></c></row></sheetData></worksheet>',
  'xl/worksheets/sheet2.xml': `<worksheet><sheetData>
    <row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="str"><f>A1</f><v>a &lt; b</v></c></row>
    <row r="2"><c r="A2" t="s"><v>1</v></c><c r="B2" s="1"><v>45292</v></c><c r="C2" s="2"><v>3.5</v></c><c r="D2" s="3"><v>60</v></c><c r="E2" s="4"><v>45292.75</v></c></row>
  </sheetData></worksheet>`,
});

const SLIDES = zip({
  'ppt/presentation.xml':
    '<p:presentation><p:sldIdLst><p:sldId id="1" r:id="b"/><p:sldId id="2" r:id="a"/></p:sldIdLst></p:presentation>',
  'ppt/_rels/presentation.xml.rels': relations({ a: 'slides/slide1.xml', b: 'slides/slide2.xml' }),
  'ppt/slides/slide1.xml': '<p:sld><a:p><a:r><a:t>Second</a:t></a:r></a:p></p:sld>',
  'ppt/slides/slide2.xml':
    '<p:sld><a:p><a:r><a:t>First</a:t></a:r><a:br/><a:r><a:t>line</a:t></a:r></a:p></p:sld>',
});

const OPEN = {
  mimetype: 'application/vnd.oasis.opendocument.text',
  'content.xml': `<office:document-content><text:tracked-changes><text:p>gone</text:p></text:tracked-changes>
    <text:h>Title</text:h><text:p>one<text:s text:c="2"/>two <text:span>three</text:span><!-- no --></text:p>
    <table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell><table:table-cell table:number-columns-repeated="1000"/></table:table-row></table:table>
  </office:document-content>`,
};

describe('texts of attached files', () => {
  let read: ReadAttachment;
  const textOf = async (name: string, bytes: Uint8Array | string, type = '') =>
    (await read(new File([bytes as Uint8Array<ArrayBuffer>], name, { type }))).text;
  const refused = (name: string, bytes: Uint8Array | string, reason: string, type = '') =>
    assert.rejects(textOf(name, bytes, type), { reason });

  before(async () => {
    const { outputFiles } = await build({
      entryPoints: [join(PROJECT_ROOT, 'web/attachments/read-attachment.ts')],
      bundle: true,
      write: false,
      format: 'esm',
    });
    const source = Buffer.from(outputFiles[0]?.contents ?? []).toString('base64');
    const module = (await import(`data:text/javascript;base64,${source}`)) as {
      readAttachment: ReadAttachment;
    };
    read = module.readAttachment;
  });

  test('plain text in its encodings', async () => {
    assert.equal(await textOf('a.txt', 'grün\r\n“x”\n'), 'grün\n“x”');
    assert.equal(await textOf('a.txt', Buffer.from('\ufeffgrün', 'utf16le')), 'grün');
    assert.equal(await textOf('a.txt', Buffer.from('gr\u00fcn', 'latin1')), 'grün');
    assert.equal(await textOf('a.svg', '<svg/>', 'image/svg+xml'), '<svg/>');
  });

  test('Word’s documents, with tables and notes and without what was deleted', async () => {
    assert.equal(await textOf('a.docx', WORD), 'Fish & chips\t5 €\na\nb\nx y | z\n\nA note.');
  });

  test('Excel’s workbooks, sheet by sheet, with dates as dates', async () => {
    const rows = ['Name |  | a < b', 'Apples | 2024-01-01 | 3.5 | 1900-02-28 | 2024-01-01 18:00:00'];
    assert.equal(await textOf('a.xlsx', EXCEL), `## Costs\n${rows.join('\n')}\n\n## More\nin line | TRUE`);
  });

  test('PowerPoint’s slides in the order of the presentation', async () => {
    assert.equal(await textOf('a.pptx', SLIDES), '## 1\nFirst\nline\n\n## 2\nSecond');
  });

  test('OpenDocument', async () => {
    assert.equal(await textOf('a.odt', zip(OPEN)), 'Title\none  two three\na | b');
  });

  test('what LibreOffice writes, in both families of formats', async () => {
    const of = async (name: string) => {
      const bytes = readFileSync(join(PROJECT_ROOT, 'tests/fixtures/documents', name));
      return (await read(new File([bytes], name))).text;
    };
    const letter = [
      'Chapter',
      'Some   spaces\ttab',
      'break. A note goes on here.',
      'Outer',
      'Inner',
      'merged',
      'x1 x2 | y',
      'End 😀 link words',
      '',
      'The footnote text',
    ];
    for (const name of ['text.odt', 'text.docx'])
      assert.deepEqual((await of(name)).split('\n'), letter, name);
    const slides = '## 1\nTitle of slide one\nPoint A\nPoint B\n\n## 2\nShape text on two\ncell a | cell b';
    for (const name of ['slides.odp', 'slides.pptx']) assert.equal(await of(name), slides, name);
    const cells = [
      '## First',
      'Kind | Value',
      'date | 2026-11-27',
      'percent | 12.5%',
      'time | 13:37',
      'bool | 1',
      'sum | 42',
      ' |  |  | far',
      'two lines, "quoted"',
      '',
      '## Second, sheet',
      '0.1 | 123456789012',
    ];
    for (const name of ['cells.ods', 'cells.xlsx'])
      assert.deepEqual((await of(name)).replace(':37:00', ':37').split('\n'), cells, name);
  });

  test('what cannot be read is refused with its reason', async () => {
    await refused('a.png', 'x', 'media', 'image/png');
    await refused('a.bin', Buffer.from([1, 0, 2]), 'unknown');
    await refused('a.doc', Buffer.from([0xd0, 0xcf, 0x11, 0xe0]), 'unknown');
    await refused('a.zip', zip({ 'a.txt': 'a' }), 'unknown');
    await refused('a.txt', ' \n', 'empty');
    await refused('a.docx', WORD.subarray(0, 200), 'broken');
    const sheet = (rows: string) =>
      zip({
        mimetype: 'application/vnd.oasis.opendocument.spreadsheet',
        'content.xml': `<office:document-content><table:table table:name="a">${rows}</table:table></office:document-content>`,
      });
    const row = (cell: string) =>
      `<table:table-row table:number-rows-repeated="1048576">${cell}</table:table-row>`;
    const cell =
      '<table:table-cell table:number-columns-repeated="1000"><text:p>text</text:p></table:table-cell>';
    await refused('a.ods', sheet(row(cell)), 'large');
    assert.equal(await textOf('a.ods', sheet(row('<table:table-cell/>').repeat(100))), '## a');
    const manifest = '<manifest:file-entry><manifest:encryption-data x=""/></manifest:file-entry>';
    await refused('a.odt', zip({ ...OPEN, 'META-INF/manifest.xml': manifest }), 'protected');
    const damaged = Buffer.from(WORD);
    damaged.fill(0xff, 60, 400);
    await refused('a.docx', damaged, 'broken');
    await refused(
      'a.xlsx',
      zip({ 'xl/workbook.xml': '<workbook><sheet name="x" r:id="q"/></workbook>' }),
      'broken',
    );
  });
});
