import { readFileSync } from 'node:fs';
import { JsonText } from '../../src/jinja/index.ts';
import { fixture } from './fixture.ts';

/** What `strftime_now` tells in the goldens. */
export const NOW = new Date(2026, 6, 9, 13, 5, 7);

/** A file that `scripts/jinja/` made. */
export function jinjaFixture<T>(name: string): T {
  return JSON.parse(readFileSync(fixture(`jinja/${name}.json`), 'utf8')) as T;
}

/** Each variable as the text that Python read it from: JSON keeps large integers and floats apart, JavaScript does not. */
export function variablesOf(texts: Readonly<Record<string, string>>): Record<string, JsonText> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, new JsonText(text)]));
}
