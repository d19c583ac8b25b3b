import { CompiledGrammar } from './compiled-grammar.ts';
import type { FuelOptions } from './fuel.ts';
import type { Grammar } from './grammar.ts';
import { DEAD } from './parser/configurations.ts';
import { NO_TOKENS } from './parser/rule-tables.ts';
import { bytesOf } from './regex/text-bytes.ts';
import { Ints } from './tuple-table.ts';

/**
 * True if the grammar allows the whole text; special tokens are written as text. Throws the errors of
 * `CompiledGrammar`.
 */
export function matchesGrammar(grammar: Grammar, text: string, limits: FuelOptions = {}): boolean {
  const { configurations } = new CompiledGrammar(grammar, NO_TOKENS, limits);
  let at = configurations.first;
  const read = new Ints();
  for (const byte of bytesOf(text)) {
    if (at === DEAD) return false;
    read.push(byte);
    at = configurations.step(at, read);
  }
  return at !== DEAD && configurations.canEnd(at);
}
