import { NO_TOKEN_NAMES, SAMPLING_WORD_NAMES, SCORE_NAMES, SCORE_PARAMETERS } from '../../../ops/index.ts';
import { formatText } from './format-text.ts';

/** The words of a parameter row, and the values written instead of a token. */
function samplingNames(): string {
  const names = Object.entries({ ...SAMPLING_WORD_NAMES, ...NO_TOKEN_NAMES });
  return `#pragma once\n${names.map(([name, value]) => `#define ${name} ${value}`).join('\n')}\n`;
}

/** The score parameters of attention: kernel parameters, and a struct of them. */
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

/** The text of a kernel header that is generated from the rest of the project; undefined for one that is a file. */
export function generatedText(name: string): string | undefined {
  return TEXTS[name]?.() ?? formatText(name);
}
