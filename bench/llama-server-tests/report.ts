/** A case of a test file with its result. */
export interface TestCase {
  readonly name: string;
  readonly result: 'passed' | 'failed' | 'skipped';
}

/** The cases of a JUnit report, as pytest writes it. */
export function casesIn(xml: string): TestCase[] {
  const cases = xml.matchAll(/<testcase\s([^>]*?)(\/>|>([\s\S]*?)<\/testcase>)/g);
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

/** The page with the results. */
export function reportPage(results: ReadonlyMap<string, readonly TestCase[]>): string {
  const rows = [...results].map(([file, cases]) => {
    const passed = cases.filter(({ result }) => result === 'passed').length;
    return `| ${file} | ${passed} | ${cases.length} |`;
  });
  const failed = [...results].flatMap(([file, cases]) =>
    cases
      .filter(({ result }) => result !== 'passed')
      .map(({ name, result }) => `- ${file} ${name} ${result}`),
  );
  return [...rows, '', ...failed, ''].join('\n');
}
