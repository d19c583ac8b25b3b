import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { GrammarLibrary, GrammarRealm } from '../text/index.ts';

type Evaluate = (
  exports: object,
  module: object,
  require: NodeJS.Require,
  filename: string,
  console: object,
) => void;

let evaluate: Promise<Evaluate> | undefined;

/**
 * A fresh instance of the grammar library. Its package says that it is an ES module, but its file is a script, which Node
 * cannot import; so the script is evaluated here, with a console of its own, because it writes there why it failed.
 */
export async function openGrammarRealm(): Promise<GrammarRealm> {
  const require = createRequire(import.meta.url);
  const path = require.resolve('@mlc-ai/web-xgrammar');
  evaluate ??= readFile(path, 'utf8').then(compiled);
  const written: string[] = [];
  const write = (...parts: unknown[]) => void written.push(parts.join(' '));
  const library = {} as GrammarLibrary;
  (await evaluate)(library, { exports: library }, require, path, { log: write, warn: write, error: write });
  return { library, messages: () => written.splice(0).join('\n') };
}

function compiled(text: string): Evaluate {
  // oxlint-disable-next-line typescript/no-implied-eval -- the text is that of a package this one depends on
  return new Function('exports', 'module', 'require', '__filename', 'console', text) as Evaluate;
}
