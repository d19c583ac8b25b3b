import { fail } from '../base/errors.ts';
import type { TextForm, TokenConstraint } from '../text/index.ts';
import type { TokenStream } from './engine.ts';
import type { GenerateOptions } from './generate-options.ts';

/** What a text is held to by its options; undefined for nothing. Throws `INVALID_ARGUMENT` where they ask for several things. */
export function formOf(options: GenerateOptions): TextForm | undefined {
  const { schema, json, regex, choices, constraint } = options;
  const forms: Readonly<Record<string, TextForm | false | undefined>> = {
    schema: schema !== undefined && { kind: 'schema', schema },
    json: json === true && { kind: 'json' },
    regex: regex !== undefined && { kind: 'regex', pattern: regex },
    choices: choices && { kind: 'choices', choices },
  };
  const asked = Object.entries(forms).filter(([, form]) => form);
  const names = [...asked.map(([name]) => name), ...(constraint ? ['constraint'] : [])];
  if (names.length > 1) {
    fail('INVALID_ARGUMENT', { name: names.join(' and '), found: 'both', expected: 'one of them' });
  }
  if (choices?.length === 0) {
    fail('INVALID_ARGUMENT', { name: 'choices', found: 'none', expected: 'at least one text' });
  }
  return asked[0]?.[1] || undefined;
}

/** Tokens under a constraint that is made when the first is asked for, and disposed behind the last. */
export async function* heldTokens(
  make: () => Promise<TokenConstraint>,
  generate: (constraint: TokenConstraint) => TokenStream,
): TokenStream {
  using constraint = await make();
  return yield* generate(constraint);
}
