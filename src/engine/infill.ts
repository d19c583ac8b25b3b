import { fail } from '../base/errors.ts';
import type { SpecialTokens } from '../text/index.ts';

/** Another file that a model sees before the one that it completes. */
export interface InfillFile {
  readonly filename?: string | undefined;
  readonly text: string;
}

/** A gap in a text. */
export interface InfillPrompt {
  /** What stands before the gap: a text or token ids. */
  readonly prefix: string | readonly number[];
  /** What stands behind it. */
  readonly suffix: string;
  readonly files?: readonly InfillFile[] | undefined;
}

/** What llama.cpp's server calls files that have no name. */
const UNNAMED = 'tmp';

/**
 * The prompt for filling in a gap, in token ids and texts that are to be encoded without special tokens: the model's own tokens for
 * it (Bavarian et al. 2022, in the order prefix, suffix, middle). Other files come first, each behind the model's token for a file
 * and its name (Qwen2.5-Coder, section 3.2.2), or behind a line with its name. Throws `INFILL_UNSUPPORTED` for models without such
 * tokens.
 */
export function infillParts(special: SpecialTokens, of: InfillPrompt): (number | string)[] {
  const { prefix, suffix, files = [] } = of;
  const { bos, addBos, fimPrefix, fimSuffix, fimMiddle, fimFile } = special;
  if (fimPrefix === undefined || fimSuffix === undefined || fimMiddle === undefined) {
    return fail('INFILL_UNSUPPORTED', {});
  }
  const parts: (number | string)[] = addBos && bos !== undefined ? [bos] : [];
  for (const { filename = UNNAMED, text } of files) {
    const content = `${filename}\n${text}`;
    if (fimFile === undefined) parts.push(`\n\n--- ${content}`);
    else parts.push(fimFile, content);
  }
  // The file that is completed has a mark of its own where the others have one.
  if (fimFile !== undefined && files.length > 0) parts.push(fimFile, `${UNNAMED}\n`);
  const before = typeof prefix === 'string' ? [prefix] : prefix;
  parts.push(fimPrefix, ...before, fimSuffix, suffix, fimMiddle);
  return parts;
}
