import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { Marked } from 'marked';
import { PROJECT_ROOT } from '../project.ts';
import { apiEntries, apiPage, apiPageName } from './api-pages.ts';
import { SITE_STYLE } from './site-style.ts';

/** A page of the site. */
export interface SitePage {
  /** Its address below the site's root, such as `docs/server.html`. */
  readonly path: string;
  readonly html: string;
  /** The names that a `#` may lead to. */
  readonly anchors: ReadonlySet<string>;
  /** All that it links to or shows, as the page has it. */
  readonly links: readonly string[];
}

/** The pages in the order of the menu, by the headings under which they stand. What is not named here has no place: a test finds it. */
const MENU: Readonly<Record<string, readonly string[]>> = {
  'Getting started': [
    'README.md',
    'docs/choosing-a-model.md',
    'docs/cli.md',
    'docs/library.md',
    'docs/models-by-name.md',
    'docs/cli.md',
    'docs/server.md',
    'docs/browser.md',
    'docs/quantize.md',
    'docs/troubleshooting.md',
    'docs/migration.md',
  ],
  'Where it runs': [
    'docs/platforms.md',
    'docs/deployment.md',
    'docs/bundling.md',
    'docs/haproxy.md',
    'docs/cpu.md',
    'docs/hip-cuda.md',
    'docs/webgpu.md',
  ],
  'In depth': [
    'docs/loading.md',
    'docs/engine.md',
    'docs/tools.md',
    'docs/grammar.md',
    'docs/chat-templates.md',
    'docs/adapters.md',
    'docs/by-hand.md',
    'docs/formats.md',
  ],
};

/** Pages that stand last, after what no heading names. */
const PROJECT_PAGES = ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md'];

interface Source {
  /** The Markdown file in the project, or where it would be. */
  readonly file: string;
  readonly title: string;
  readonly text: string;
}

function sourceOf(file: string, text: string): Source {
  return { file, text, title: /^# (.+)$/m.exec(text)?.[1] ?? file };
}

/** `docs/server.md` is shown at `docs/server.html`, the README at the root. */
function addressOf(file: string): string {
  return file === 'README.md' ? 'index.html' : file.replace(/\.md$/, '.html');
}

/** The name that GitHub gives a heading, so that the same links work there and here. */
export function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}

/** Where a link of a page leads on the site: to another page, or, for a file that is none, into the repository. */
function siteLink(href: string, from: Source, pages: ReadonlySet<string>, repository: string): string {
  if (/^(?:[a-z]+:|#)/i.test(href)) return href;
  const [path = '', anchor] = href.split('#');
  const target = posix.join(posix.dirname(from.file), path);
  const behind = anchor === undefined ? '' : `#${anchor}`;
  if (pages.has(target)) {
    return `${posix.relative(posix.dirname(addressOf(from.file)), addressOf(target))}${behind}`;
  }
  if (target.startsWith('docs/pictures/')) return posix.relative(posix.dirname(addressOf(from.file)), target);
  return `${repository}/blob/main/${target}${behind}`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

/** A page's body, with names at its headings. */
function bodyOf(source: Source, pages: ReadonlySet<string>, repository: string) {
  const anchors = new Set<string>();
  const links: string[] = [];
  const leadsTo = (href: string) => {
    const link = siteLink(href, source, pages, repository);
    links.push(link);
    return escaped(link);
  };
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        const plain = slugOf(text.replaceAll(/\[([^\]]*)\]\([^)]*\)|[`*]/g, '$1'));
        let id = plain;
        for (let count = 1; anchors.has(id); count++) id = `${plain}-${count}`;
        anchors.add(id);
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        return `<a href="${leadsTo(href)}">${this.parser.parseInline(tokens)}</a>`;
      },
      image({ href, text }) {
        return `<img src="${leadsTo(href)}" alt="${escaped(text)}">`;
      },
    },
  });
  const html = marked.parse(source.text, { async: false });
  return { html, anchors, links };
}

function menuOf(menu: Readonly<Record<string, readonly Source[]>>, current: Source): string {
  const here = posix.dirname(addressOf(current.file));
  return Object.entries(menu)
    .map(([heading, sources]) => {
      const items = sources.map((source) => {
        const mark = source === current ? ' aria-current="page"' : '';
        const title = source.file === 'README.md' ? 'Start' : source.title;
        return `<li><a href="${posix.relative(here, addressOf(source.file))}"${mark}>${escaped(title)}</a></li>`;
      });
      return `<h2>${heading}</h2><ul>${items.join('')}</ul>`;
    })
    .join('\n');
}

/** All pages of the site: the README, the guides, the API's declarations and what the project says of itself. */
export function sitePages(): SitePage[] {
  const read = (file: string) => sourceOf(file, readFileSync(join(PROJECT_ROOT, file), 'utf8'));
  const { repository } = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8')) as {
    repository: { url: string };
  };
  const web = repository.url.replace(/^git\+/, '').replace(/\.git$/, '');
  const placed = new Set([...Object.values(MENU).flat(), ...PROJECT_PAGES]);
  const others = readdirSync(join(PROJECT_ROOT, 'docs'))
    .filter((name) => name.endsWith('.md') && !placed.has(`docs/${name}`))
    .sort();
  const menu = {
    ...Object.fromEntries(Object.entries(MENU).map(([heading, files]) => [heading, files.map(read)])),
    Reference: others.map((name) => read(`docs/${name}`)),
    'Entry points': apiEntries().map((entry) => sourceOf(`docs/${apiPageName(entry)}.md`, apiPage(entry))),
    Project: PROJECT_PAGES.map(read),
  };
  const sources = Object.values(menu).flat();
  const files = new Set(sources.map(({ file }) => file));
  return sources.map((source) => {
    const { html, anchors, links } = bodyOf(source, files, web);
    const title = source.file === 'README.md' ? 'rocmforge' : `${source.title} - rocmforge`;
    const page = [
      '<!doctype html>',
      '<html lang="en"><head><meta charset="utf-8">',
      '<meta name="viewport" content="width=device-width, initial-scale=1">',
      `<title>${escaped(title)}</title><style>${SITE_STYLE}</style></head><body>`,
      `<nav aria-label="Pages">${menuOf(menu, source)}</nav>`,
      `<main>${html}</main></body></html>`,
      '',
    ].join('\n');
    return { path: addressOf(source.file), html: page, anchors, links };
  });
}

/** Links of pages that lead to no page, or to a name that it does not have, as `page: link`. */
export function brokenLinks(pages: readonly SitePage[], isFile: (path: string) => boolean): string[] {
  const byPath = new Map(pages.map((page) => [page.path, page]));
  return pages.flatMap((page) =>
    page.links
      .filter((link) => {
        if (/^[a-z]+:/i.test(link)) return false;
        const [path = '', anchor] = link.split('#');
        const target = path === '' ? page.path : posix.join(posix.dirname(page.path), path);
        const to = byPath.get(target);
        if (!to) return !isFile(target);
        return anchor !== undefined && !to.anchors.has(anchor);
      })
      .map((link) => `${page.path}: ${link}`),
  );
}
