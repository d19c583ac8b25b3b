import { Option } from 'commander';
import { fail } from '../base/errors.ts';
import type { ServedModel } from '../server/index.ts';

/** The names of the models that are served. */
export interface ServedNameFlags {
  readonly alias?: readonly string[];
  readonly tags?: readonly string[];
}

/** Options for the names of models. */
export function servedNameOptions(): Option[] {
  return [
    new Option(
      '--alias <names>',
      'names of the one model, separated by commas, of which the first lists it; or NAME=ALIAS for each of several',
    ).argParser(words),
    new Option('--tags <words>', 'words that describe the one model, separated by commas').argParser(words),
  ];
}

/**
 * The models by the names and with the tags of the flags. The own name of a single one is the first in alphabetical order, as in
 * llama.cpp's server; models that are named by `NAME=ALIAS` keep theirs.
 */
export function renamed(
  models: readonly ServedModel[],
  { alias = [], tags }: ServedNameFlags,
): readonly ServedModel[] {
  const own = alias.filter((name) => !name.includes('=')).sort();
  return models.map((model) => {
    const aliases = alias.filter((name) => name.startsWith(`${model.id}=`)).map(aliasOf);
    const all = [...new Set([...own, ...aliases])];
    return {
      ...model,
      id: own[0] ?? model.id,
      ...(all.length > 0 && { aliases: all }),
      ...(tags && { tags: [...new Set(tags)].sort() }),
    };
  });
}

/**
 * Throws `INVALID_ARGUMENT` for names or tags of one model if there are several, for names of models that are not there, and for an
 * alias that is another's name.
 */
export function checkNames(models: readonly ServedModel[], { alias = [], tags }: ServedNameFlags): void {
  const named = alias.filter((name) => name.includes('='));
  const isOfOne = alias.length > named.length;
  if ((isOfOne || tags) && models.length > 1) {
    const expected = isOfOne ? 'the one model that it is for, or NAME=ALIAS' : 'the one model that it is for';
    fail('INVALID_ARGUMENT', {
      name: isOfOne ? '--alias' : '--tags',
      found: `${models.length} models`,
      expected,
    });
  }
  const ids = models.map(({ id }) => id);
  for (const text of named) {
    const [id] = text.split('=', 1) as [string];
    const isTwice =
      ids.includes(aliasOf(text)) || named.some((of) => of !== text && aliasOf(of) === aliasOf(text));
    if (ids.includes(id) && aliasOf(text) !== '' && !isTwice) continue;
    const expected = `a name of ${ids.join(', ')}, and an alias that no model has`;
    fail('INVALID_ARGUMENT', { name: '--alias', found: text, expected });
  }
}

function aliasOf(text: string): string {
  return text.slice(text.indexOf('=') + 1);
}

/** The words of a list that is separated by commas. */
function words(text: string): string[] {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}
