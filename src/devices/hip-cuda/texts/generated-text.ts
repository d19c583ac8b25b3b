import { NO_TOKEN_NAMES, SAMPLING_WORD_NAMES, SCORE_NAMES, SCORE_PARAMETERS } from '../../../ops/index.ts';
import { formatText } from './format-text.ts';

/** The words of a parameter row, and what stands in a token's place where none can be chosen. */
function samplingNames(): string {
  const names = Object.entries({ ...SAMPLING_WORD_NAMES, ...NO_TOKEN_NAMES });
  return `#pragma once\n${names.map(([name, value]) => `#define ${name} ${value}`).join('\n')}\n`;
}

/** What is done to the scores of attention: parameters of kernels, and a struct of them. */
function scoreParameters(): string {
  const fields = SCORE_NAMES.map((name) => ({
    type: SCORE_PARAMETERS[name].replace('weight', 'const f32*'),
    name: name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  }));
  const declared = fields.map(({ type, name }) => `${type} ${name}`);
  const names = fields.map(({ name }) => name);
  return `#pragma once
#include "prelude.h"
struct Scores { ${declared.join('; ')}; };
#define SCORE_PARAMETERS ${declared.join(', ')}
#define SCORES Scores{${names.join(', ')}}
`;
}

const TEXTS: Readonly<Record<string, () => string>> = {
  'sampling-names.h': samplingNames,
  'score-parameters.h': scoreParameters,
};

/** The text of a kernel header that is made of what the rest of the project knows; undefined for one that a file holds. */
export function generatedText(name: string): string | undefined {
  return TEXTS[name]?.() ?? formatText(name);
}
