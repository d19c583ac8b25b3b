import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finish } from '../../src/base/turns.ts';
import { FormCompiler } from '../../src/text/constrained/form-compiler.ts';
import { writtenForm } from '../../src/text/constrained/text-form.ts';
import { vocabularyTable } from '../../src/text/constrained/vocabulary-table.ts';
import { vocabularyTokenizer } from '../support/vocabularies.ts';

test('compiled grammars are kept by number and by weight, and the one in use always', async () => {
  const tokenizer = await vocabularyTokenizer('gpt-2');
  const table = finish(vocabularyTable(tokenizer, tokenizer.vocabularySize));
  const choice = (of: number) => writtenForm({ kind: 'choices', choices: [`choice ${of}`] });
  const fill = (compiler: FormCompiler, of: number) =>
    compiler.matcher(choice(of)).fill(new Int32Array(Math.ceil(table.size / 32)));
  const few = new FormCompiler(table, { grammars: 3, ints: 2 ** 40 });
  for (const of of [1, 2, 3, 4, 5]) assert.ok(fill(few, of));
  assert.equal(few.size, 3);
  const light = new FormCompiler(table, { grammars: 64, ints: 1 });
  for (const of of [1, 2, 3]) {
    assert.ok(fill(light, of));
    assert.equal(light.size, 1);
  }
});

test('compiling pauses for others between planes of Unicode, of which each property is looked for in five', async () => {
  const tokenizer = await vocabularyTokenizer('gpt-2');
  const compiler = new FormCompiler(finish(vocabularyTable(tokenizer, tokenizer.vocabularySize)));
  const pattern = '^[\\p{Lu}\\p{Script=Greek}\\p{Nd}]+$';
  const schema = { type: 'object', properties: { a: { type: 'string', pattern } } };
  for (const form of [{ kind: 'regex', pattern } as const, { kind: 'schema', schema } as const]) {
    let looks = 0;
    compiler.matcher(writtenForm(form), { onCheck: () => looks++ });
    assert.ok(looks >= 15, `${looks} looks`);
  }
});
