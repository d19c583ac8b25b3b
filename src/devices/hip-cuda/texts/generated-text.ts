import { NO_TOKEN_NAMES, SAMPLING_WORD_NAMES } from '../../../ops/index.ts';
import { formatText } from './format-text.ts';

/** The words of a parameter row, and what stands in a token's place where none can be chosen. */
function samplingNames(): string {
  const names = Object.entries({ ...SAMPLING_WORD_NAMES, ...NO_TOKEN_NAMES });
  return `#pragma once\n${names.map(([name, value]) => `#define ${name} ${value}`).join('\n')}\n`;
}

/** The text of a kernel header that is made of what the rest of the project knows; undefined for one that a file holds. */
export function generatedText(name: string): string | undefined {
  return name === 'sampling-names.h' ? samplingNames() : formatText(name);
}
