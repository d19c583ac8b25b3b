// Writes the documentation as a web site of static pages: `npm run docs:site [folder]` (dist/site). It works from any path, and needs no
// script.
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brokenLinks, sitePages } from '../dist/tests/support/site/site-pages.js';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const OUT = process.argv[2] ?? join(ROOT, 'dist/site');

const pages = sitePages();
rmSync(OUT, { recursive: true, force: true });
for (const { path, html } of pages) {
  mkdirSync(dirname(join(OUT, path)), { recursive: true });
  writeFileSync(join(OUT, path), html);
}
cpSync(join(ROOT, 'docs/pictures'), join(OUT, 'docs/pictures'), { recursive: true });
const broken = brokenLinks(pages, (path) => existsSync(join(OUT, path)));
for (const link of broken) console.error(`leads nowhere: ${link}`);
console.log(`${pages.length} pages in ${OUT}`);
process.exitCode = broken.length === 0 ? 0 : 1;
