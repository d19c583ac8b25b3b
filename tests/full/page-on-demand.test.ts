import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { accessibilityFaults } from '../support/browser/accessibility.ts';
import { NO_BROWSER, TestBrowser } from '../support/browser/chromium.ts';
import { type SaidRequest, SaidServer } from '../support/browser/said-server.ts';
import { PROJECT_ROOT } from '../support/project.ts';

const PAGE = join(PROJECT_ROOT, 'dist/web');

/** Japanese without what says which characters its codes are: Shift JIS, by an encoding that readers know by name. */
const JAPANESE =
  '<< /Type /Font /Subtype /Type0 /BaseFont /Mincho /Encoding /90ms-RKSJ-H /DescendantFonts [<< /Type /Font /Subtype /CIDFontType0 ' +
  '/BaseFont /Mincho /CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 2 >> /FontDescriptor << /Type /FontDescriptor ' +
  '/FontName /Mincho /Flags 4 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >> >>] >>';

/** A PDF of pages with these contents, with `trailer` in its trailer. */
function pdf(pages: readonly string[], trailer = ''): Buffer {
  const kids = pages.map((_, at) => `${5 + 2 * at} 0 R`).join(' ');
  const resources = '/Resources << /Font << /F 3 0 R /J 4 0 R >> >>';
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    JAPANESE,
    ...pages.flatMap((content, at) => [
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] ${resources} /Contents ${6 + 2 * at} 0 R >>`,
      `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    ]),
  ];
  let text = '%PDF-1.4\n';
  const offsets = objects.map((object, at) => {
    const offset = text.length;
    text += `${at + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(offset).padStart(10, '0')} 00000 n \n`;
  });
  const size = objects.length + 1;
  const end = `trailer\n<< /Size ${size} /Root 1 0 R ${trailer} >>\nstartxref\n${text.length}\n%%EOF\n`;
  return Buffer.from(`${text}xref\n0 ${size}\n0000000000 65535 f \n${offsets.join('')}${end}`, 'latin1');
}

/** A password is asked for. */
const LOCKED = `/ID [<00><00>] /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <${'ab'.repeat(32)}> /U <${'cd'.repeat(32)}> >>`;

const text = (said: string) => `BT /F 12 Tf 20 200 Td ${said} ET`;
const DOCUMENT = pdf([
  text('(A first line) Tj 0 -20 Td (and a second) Tj'),
  'BT /J 12 Tf 20 200 Td <82a082a2> Tj ET',
]);

const DIAGRAM = 'graph TD\n  A[Begin] --> B[End]';

test('PDF and diagrams are read by what is loaded when it is needed', { skip: NO_BROWSER }, async (t) => {
  const requests: SaidRequest[] = [];
  await using server = await SaidServer.open(PAGE, async function* (request) {
    requests.push(request);
    yield { content: `\`\`\`mermaid\n${DIAGRAM}\n\`\`\`\n\n\`\`\`mermaid\nno diagram\n\`\`\`\n` };
  });
  await using browser = await TestBrowser.open({ viewport: { width: 1280, height: 900 } });
  const page = await browser.page(`${server.url}/`);
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  const message = page.getByRole('textbox', { name: 'Message' });
  const attach = (name: string, buffer: Buffer) =>
    page.locator('.composer input[type=file]').setInputFiles({ name, mimeType: 'application/pdf', buffer });
  const notice = page.locator('.notice');
  await message.waitFor();

  await t.test('a PDF’s text goes with the message', async () => {
    await attach('a.pdf', DOCUMENT);
    await page.getByRole('button', { name: 'Remove a.pdf' }).waitFor();
    await message.fill('read');
    await page.keyboard.press('Enter');
    await page.locator('.answer .turn-foot').waitFor();
    assert.match(String(requests[0]?.messages.at(-1)?.['content']), /A first line\nand a second\n\nあい/);
  });

  await t.test('one that cannot be read is refused with its reason', async () => {
    await attach('broken.pdf', Buffer.from('%PDF-1.4\nnothing'));
    await notice.getByText('This file is damaged').waitFor();
    await attach('locked.pdf', pdf([text('(no)')], LOCKED));
    await notice.getByText('protected by a password').waitFor();
    await attach('empty.pdf', pdf(['']));
    await notice.getByText('There is no text in this file.').waitFor();
  });

  await t.test('a diagram is drawn in the sandbox, when it is asked for', async () => {
    assert.ok(!asked.some((path) => path.includes('mermaid')));
    const show = page.getByRole('button', { name: 'Show' });
    await show.first().click();
    await page.frameLocator('.text iframe').getByText('Begin').waitFor();
    await page.locator('.text iframe[style*=height]').waitFor();
    assert.deepEqual(await accessibilityFaults(page), []);
    await page.getByRole('button', { name: 'Hide' }).click();
    await show.nth(1).click();
    await page.getByText('This is not drawn: ').waitFor();
  });
});
