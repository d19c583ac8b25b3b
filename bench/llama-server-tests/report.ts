import { verdictOn } from './verdicts.ts';

/** A case of a test file with its result. */
export interface TestCase {
  readonly name: string;
  readonly result: 'passed' | 'failed' | 'skipped';
}

/** The cases of a JUnit report, as pytest writes it. */
export function casesIn(xml: string): TestCase[] {
  const cases = xml.matchAll(/<testcase\s((?:[^>"]|"[^"]*")*?)(\/>|>([\s\S]*?)<\/testcase>)/g);
  return Array.from(cases, ([, attributes = '', , inside = '']) => ({
    name: unescaped(/(?:^|\s)name="([^"]*)"/.exec(attributes)?.[1] ?? ''),
    result: /<(?:failure|error)\b/.test(inside) ? 'failed' : /<skipped\b/.test(inside) ? 'skipped' : 'passed',
  }));
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function unescaped(text: string): string {
  return text.replaceAll(
    /&(?:#x([\dA-Fa-f]+)|#(\d+)|(\w+));/g,
    (whole, hex?: string, digits?: string, name?: string) => {
      if (name !== undefined) return ENTITIES[name] ?? whole;
      return String.fromCodePoint(hex === undefined ? Number(digits) : Number.parseInt(hex, 16));
    },
  );
}

/** The results by file. */
type Results = ReadonlyMap<string, readonly TestCase[]>;

const HEAD = `# llama.cpp's server tests

llama.cpp's own tests of its server, unchanged, against \`rocmforge serve\`: \`npm run test:llama-server -- --source <llama.cpp>
--page docs/llama-server-tests.md\` writes this page. A program takes llama-server's place and maps its flags; files made by the script take the
place of the downloads: stories260K as it is, with tokens for filling in, stories15M with its layers as the experts of a mixture, a random
Gemma 3, and random BERTs with a vocabulary of English words. Cases that need models of billions of parameters (marked \`slow\`) are not run, and
images, audio, MCP, proxies and built-in tools are not counted. Skipped cases are those that the tests skip themselves.
`;

/** The page with the results: a table by file, and every case that does not pass with who is right. */
export function reportPage(results: Results): string {
  return [HEAD, ...tableOf(results), '', ...failures(countedOf(results))].join('\n');
}

/** Where a page has the table by file; the script replaces what is between. */
const TABLE = /(<!-- llama-server-tests -->\n)[\s\S]*?(<!-- end of llama-server-tests -->)/;

/** A page that shows the table by file, with that of these results. Throws for a page without a place for it. */
export function withTable(page: string, results: Results): string {
  if (!TABLE.test(page)) throw new Error('the page has no place for the table');
  return page.replace(TABLE, (_, begin: string, end: string) =>
    [begin, ...tableOf(results).map((row) => `${row}\n`), '\n', end].join(''),
  );
}

function countedOf(results: Results): Results {
  return new Map(
    [...results].map(([file, cases]) => [file, cases.filter((one) => isCounted(file, one))] as const),
  );
}

function tableOf(results: Results): string[] {
  const files = [...countedOf(results)].filter(([, cases]) => cases.length > 0);
  const rows = files.map(
    ([file, cases]) => `| \`${file}\` | ${countOf(cases, 'passed')} | ${cases.length} |`,
  );
  const all = files.flatMap(([, cases]) => cases);
  const passed = countOf(all, 'passed');
  const share = all.length > 0 ? ((100 * passed) / all.length).toFixed(1) : '0';
  const total = `| **all** | **${passed}** | **${all.length}** (${share} %) |`;
  return ['| file | passed | of |', '|---|---|---|', ...rows, total];
}

function isCounted(file: string, { name, result }: TestCase): boolean {
  return result !== 'skipped' && verdictOn(file, name)?.says !== 'not counted';
}

function countOf(cases: readonly TestCase[], wanted: TestCase['result']): number {
  return cases.filter(({ result }) => result === wanted).length;
}

/** The failed cases, by who is right and why. */
function failures(results: Results): string[] {
  const failed = [...results].flatMap(([file, cases]) =>
    cases.filter(({ result }) => result === 'failed').map(({ name }) => ({ file, name })),
  );
  if (failed.length === 0) return [];
  const reasons = new Map<string, string[]>();
  for (const { file, name } of failed) {
    const verdict = verdictOn(file, name);
    const who = verdict ? `**${verdict.says}**: ${verdict.why}` : '**open**';
    const of = `\`${file.replaceAll(/^test_|\.py$/g, '')}: ${shown(name)}\``;
    reasons.set(who, [...(reasons.get(who) ?? []), of]);
  }
  const rows = [...reasons].sort().map(([who, named]) => `| ${who} | ${named.join('<br>')} |`);
  return ['## Cases that do not pass', '', '| who is right | cases |', '|---|---|', ...rows, ''];
}

const MAX_NAME = 100;

/** A case's name as it can stand in a cell of a table. */
function shown(name: string): string {
  const plain = name.replace(/^test_/, '').replaceAll(/[|`\n]/g, ' ');
  return plain.length > MAX_NAME ? `${plain.slice(0, MAX_NAME)}…` : plain;
}
