import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { Declarations } from '../declarations.ts';
import { packageEntries } from '../package-entries.ts';
import { PROJECT_ROOT } from '../project.ts';

/** A declaration with its docstring, as the compiler wrote both. */
interface Documented {
  /** The docstring as Markdown; empty if there is none. */
  doc: string;
  text: string;
}

/** One export of an entry. */
interface ApiExport extends Documented {
  readonly name: string;
}

/** An entry of the package: `rocmforge/server`, what its file says of it, and its exports. */
export interface ApiEntry {
  readonly specifier: string;
  readonly about: string;
  readonly exports: readonly ApiExport[];
}

const DECLARED =
  /^(?:export )?(?:declare )?(?:abstract )?(?:class|function|interface|type|const|let|enum) (\w+)/;

/** The text between a comment's stars, a paragraph a line. */
function textOf(comment: string): string {
  const lines = comment.replace(/^\/\*\*/, '').replace(/\*\/$/, '');
  return lines.replaceAll(/^\s*\* ?/gm, '').trim();
}

/** The declarations of a file by name, in order; overloads are one. */
function documentedIn(text: string): Map<string, Documented> {
  const all = new Map<string, Documented>();
  let comment: string[] | undefined;
  let doc = '';
  let current: Documented | undefined;
  for (const line of text.split('\n')) {
    if (line.startsWith('/**')) {
      comment = [];
      current = undefined;
    }
    if (comment) {
      comment.push(line);
      if (!line.trimEnd().endsWith('*/')) continue;
      doc = textOf(comment.join('\n'));
      comment = undefined;
      continue;
    }
    const name = DECLARED.exec(line)?.[1];
    if (name !== undefined) {
      current = all.get(name) ?? { doc, text: '' };
      all.set(name, current);
    } else if (/^(?:import|export) /.test(line)) current = undefined;
    doc = '';
    if (current) current.text += `${line}\n`;
  }
  return all;
}

/** What a file of declarations says at its top about itself: a docstring before any declaration. */
function aboutOf(text: string): string {
  const [, comment = ''] = /^(?:import [^\n]*\n)*(\/\*\*[\s\S]*?\*\/)\n(?:import|export) /.exec(text) ?? [];
  return textOf(comment);
}

/** The package's entries with all that they export, read from the compiler's declarations. */
export function apiEntries(): ApiEntry[] {
  const declarations = new Declarations();
  const files = new Map<string, Map<string, Documented>>();
  const inFile = (path: string) => {
    const known = files.get(path) ?? documentedIn(readFileSync(path, 'utf8'));
    files.set(path, known);
    return known;
  };
  return packageEntries().map(({ name: entry, types }) => {
    const found = [...declarations.exportedBy(types)].map(([name, of]): ApiExport => {
      const known = inFile(of.path).get(of.name);
      if (!known) throw new Error(`${name} of ${entry} is not in ${relative(PROJECT_ROOT, of.path)}`);
      return { name, ...known };
    });
    const byName = found.sort((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
    return {
      specifier: entry.replace('.', 'rocmforge'),
      about: aboutOf(readFileSync(types, 'utf8')),
      exports: byName,
    };
  });
}

/** What an export is, for people: `class`, `function`, `type`, `value`. */
function kindOf({ text }: ApiExport): string {
  if (/^(?:export )?(?:declare )?(?:abstract )?class /.test(text)) return 'class';
  if (/^(?:export )?(?:declare )?function /.test(text)) return 'function';
  return /^(?:export )?(?:declare )?(?:const|let|enum) /.test(text) ? 'value' : 'type';
}

/** The name of an entry's page without its ending: `api-server`. */
export function apiPageName({ specifier }: ApiEntry): string {
  return `api-${specifier === 'rocmforge' ? 'main' : specifier.replace('rocmforge/', '')}`;
}

/** An entry's page as Markdown: each export with its docstring and its declaration. */
export function apiPage(entry: ApiEntry): string {
  const about = entry.about.replace(/^`[^`]+`: /, '');
  const sections = entry.exports.flatMap((one) => {
    const declaration = one.text
      .replaceAll(/^export (?:declare )?/gm, '')
      .replaceAll(/^ {4}#private;\n/gm, '');
    return [
      `## ${one.name}`,
      '',
      `*${kindOf(one)}*`,
      '',
      one.doc,
      '',
      '```ts',
      declaration.trimEnd(),
      '```',
      '',
    ];
  });
  return [
    `# ${entry.specifier}`,
    '',
    about === '' ? '' : `${about[0]?.toUpperCase()}${about.slice(1)}`,
    '',
    ...sections,
  ].join('\n');
}

/** The first sentence of a docstring, on one line, for a table. */
function sentenceOf(doc: string): string {
  const [first = ''] = doc.replaceAll(/\s+/g, ' ').split(/(?<=[.:]) (?=[A-Z`])/);
  return first.replaceAll('|', '\\|');
}

/** The text of docs/api.md: what each entry exports, with a sentence on each; the site has the declarations too. */
export function apiIndexPage(entries: readonly ApiEntry[]): string {
  const sections = entries.flatMap((entry) => [
    `## ${entry.specifier}`,
    '',
    '| name | is |',
    '|---|---|',
    ...entry.exports.map(
      (one) => `| \`${one.name}\` | ${[`${kindOf(one)}.`, sentenceOf(one.doc)].join(' ').trim()} |`,
    ),
    '',
  ]);
  return [
    '# API reference',
    '',
    'Everything that the package exports, by entry point, with the first sentence of its docstring. Your editor shows the whole docstring',
    'and the types; `npm run docs:site` writes them as pages, one for each entry point, into `dist/site`. `npm run docs` writes this page',
    'from the compiled declarations. [library.md](library.md) is the place to start.',
    '',
    ...sections,
  ].join('\n');
}
