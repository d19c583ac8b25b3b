import assert from 'node:assert/strict';
import { test } from 'node:test';
import { architectureOf } from '../../src/model/architecture.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';

function refusalOf(name: string): string {
  const metadata = { string: () => name };
  try {
    architectureOf(metadata, ALL_ARCHITECTURES);
  } catch (error) {
    assert.equal((error as { code?: unknown }).code, 'ARCHITECTURE_UNKNOWN');
    return (error as Error).message;
  }
  return assert.fail(`${name} is an architecture`);
}

test('kinds of models that are not computed are refused with the reason, other names with those that are known', () => {
  const kinds = ['t5', 'llada-moe', 'dream', 'cogvlm', 'wavtokenizer-dec'];
  for (const name of [...kinds, 'minimax-01', 'gptj'])
    assert.match(refusalOf(name), new RegExp(`^general\\.architecture is ${name}, a .+; known: .*llama`));
  for (const name of ['eagle3', 'dflash', 'gemma4-assistant']) assert.match(refusalOf(name), /--draft/);
  assert.match(refusalOf('clip'), /mmproj/);
  for (const name of ['mystery', 'toString', ''])
    assert.match(refusalOf(name), new RegExp(`^general\\.architecture is ${name}; known: .*llama`));
});
