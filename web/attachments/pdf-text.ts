import { getDocument, GlobalWorkerOptions } from 'pdfjs-dist/legacy/build/pdf.mjs';
import { UnreadableFile } from './unreadable-file.ts';

GlobalWorkerOptions.workerSrc = new URL('./later/pdf.worker.js', document.baseURI).href;

/**
 * The text of a PDF, page by page, by pdf.js, in a worker that ends with it. Throws `UnreadableFile`. What is a picture, such as a
 * scanned page, has no text.
 */
export async function pdfText(bytes: Uint8Array): Promise<string> {
  const opening = getDocument({
    data: bytes,
    // How old fonts of Chinese, Japanese and Korean name their characters.
    cMapUrl: new URL('./later/cmaps/', document.baseURI).href,
    cMapPacked: true,
    useWorkerFetch: true,
    disableFontFace: true,
    verbosity: 0,
  });
  try {
    const pdf = await opening.promise;
    const pages: string[] = [];
    for (let at = 1; at <= pdf.numPages; at++) {
      const page = await pdf.getPage(at);
      const { items } = await page.getTextContent();
      const pieces = items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : ''));
      pages.push(pieces.join('').trim());
      page.cleanup();
    }
    return pages.filter((text) => text !== '').join('\n\n');
  } catch (error) {
    // Its class is not exported.
    if (error instanceof Error && error.name === 'PasswordException')
      throw new UnreadableFile('protected', { cause: error });
    throw new UnreadableFile('broken', { cause: error });
  } finally {
    await opening.destroy();
  }
}
