import { test } from 'node:test';
import { checkAnswers, DIALECTS } from '../support/answer-walks.ts';

const GRAMMARS = [true, false].flatMap((isRequired) =>
  [true, false].map((isParallel) => ({ isRequired, isParallel })),
);

for (const [name, dialect] of DIALECTS) {
  for (const isControl of [true, false]) {
    test(`many answers that ${name} is held to are calls of the tools' schemas, ${isControl ? 'with' : 'without'} special tokens`, () => {
      checkAnswers(dialect, { isControl, grammars: GRAMMARS, texts: 30 });
    });
  }
}
