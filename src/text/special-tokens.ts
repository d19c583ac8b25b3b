import { fail } from '../base/errors.ts';
import {
  ALWAYS_VISIBLE_NAMES,
  END_OF_GENERATION_NAMES,
  MARKUP_NAMES,
  ROLE_NAMES,
} from './special-token-names.ts';
import { TOKEN_TYPES } from './token-type.ts';
import type { TokenizerMetadata } from './tokenizer-metadata.ts';
import type { Vocabulary } from './vocabulary.ts';

/** Ids with a special meaning; undefined if the model has none. */
export interface SpecialIds {
  readonly bos?: number;
  readonly eos?: number;
  /** End of a turn. */
  readonly eot?: number;
  /** End of a message that expects a tool's result. */
  readonly eom?: number;
  readonly unknown?: number;
  readonly separator?: number;
  readonly padding?: number;
  readonly mask?: number;
  /** Fill-in-the-middle: before the prefix, the suffix, the part to write; and padding, repository, file. */
  readonly fimPrefix?: number;
  readonly fimSuffix?: number;
  readonly fimMiddle?: number;
  readonly fimPad?: number;
  readonly fimRepository?: number;
  readonly fimFile?: number;
}

/** The special ids, what surrounds a text, and where generation ends. */
export interface SpecialTokens extends SpecialIds {
  readonly addBos: boolean;
  readonly addEos: boolean;
  readonly addSeparator: boolean;
  /** All ids after which the answer is complete. */
  readonly endOfGeneration: ReadonlySet<number>;
}

/** Defaults of a kind of tokenizer for missing metadata. */
export interface SpecialDefaults {
  readonly ids: SpecialIds;
  readonly addBos?: boolean;
  readonly addEos?: boolean;
  readonly addSeparator?: boolean;
}

type Role = keyof SpecialIds;

/** Later keys win; the last three are older spellings. */
const ID_KEYS: readonly (readonly [Role, string])[] = [
  ['bos', 'bos_token_id'],
  ['eos', 'eos_token_id'],
  ['eot', 'eot_token_id'],
  ['eom', 'eom_token_id'],
  ['unknown', 'unknown_token_id'],
  ['separator', 'seperator_token_id'],
  ['padding', 'padding_token_id'],
  ['mask', 'mask_token_id'],
  ['fimPrefix', 'fim_pre_token_id'],
  ['fimSuffix', 'fim_suf_token_id'],
  ['fimMiddle', 'fim_mid_token_id'],
  ['fimPad', 'fim_pad_token_id'],
  ['fimRepository', 'fim_rep_token_id'],
  ['fimFile', 'fim_sep_token_id'],
  ['fimPrefix', 'prefix_token_id'],
  ['fimSuffix', 'suffix_token_id'],
  ['fimMiddle', 'middle_token_id'],
];

/**
 * Finds the special tokens by metadata, then by name, and corrects the vocabulary's types: a token that ends generation
 * is a control token even if the converter did not mark it. Throws `TOKENIZER_INVALID`.
 */
export function readSpecialTokens(
  metadata: TokenizerMetadata,
  vocabulary: Vocabulary,
  defaults: SpecialDefaults,
): SpecialTokens {
  const ids: Partial<Record<Role, number>> = {};
  for (const [role, id] of Object.entries(defaults.ids)) if (id < vocabulary.size) ids[role as Role] = id;
  for (const [role, key] of ID_KEYS) {
    const id = metadata.number(`tokenizer.ggml.${key}`);
    if (id !== undefined && id >= 0 && id < vocabulary.size) ids[role] = id;
  }
  const named = findNamed(vocabulary);
  for (const [role, names] of Object.entries(ROLE_NAMES)) {
    if (ids[role as Role] !== undefined) continue;
    const name = names.find((candidate) => named.has(candidate));
    if (name === undefined) continue;
    const id = named.get(name) as number;
    ids[role as Role] = id;
    vocabulary.types[id] = TOKEN_TYPES.control;
  }
  const endOfGeneration = findEnds(vocabulary, named, ids);
  for (const name of ALWAYS_VISIBLE_NAMES) {
    const id = named.get(name);
    if (id !== undefined) vocabulary.types[id] = TOKEN_TYPES.userDefined;
  }
  const flag = (key: string, fallback = false) => metadata.boolean(`tokenizer.ggml.${key}`) ?? fallback;
  const special = {
    ...ids,
    endOfGeneration,
    addBos: flag('add_bos_token', defaults.addBos),
    addEos: flag('add_eos_token', defaults.addEos),
    addSeparator: flag('add_sep_token', defaults.addSeparator),
  };
  checkAdded(special.addBos, 'add_bos_token', 'bos_token_id', special.bos);
  checkAdded(special.addEos, 'add_eos_token', 'eos_token_id', special.eos);
  return special;
}

function findNamed(vocabulary: Vocabulary): Map<string, number> {
  const named = new Map<string, number>();
  for (const name of [
    ...Object.values(ROLE_NAMES).flat(),
    ...END_OF_GENERATION_NAMES,
    ...ALWAYS_VISIBLE_NAMES,
  ]) {
    const id = vocabulary.idOf(name);
    if (id !== undefined) named.set(name, id);
  }
  return named;
}

function findEnds(
  vocabulary: Vocabulary,
  named: ReadonlyMap<string, number>,
  ids: SpecialIds,
): ReadonlySet<number> {
  const ends = new Set<number>();
  for (const id of [ids.fimPad, ids.fimRepository, ids.fimFile]) if (id !== undefined) ends.add(id);
  for (const name of END_OF_GENERATION_NAMES) {
    const id = named.get(name);
    if (id === undefined) continue;
    if (MARKUP_NAMES.has(name) && vocabulary.types[id] === TOKEN_TYPES.normal) continue;
    ends.add(id);
    vocabulary.types[id] = TOKEN_TYPES.control;
  }
  for (const id of [ids.eos, ids.eot, ids.eom]) if (id !== undefined) ends.add(id);
  const has = (name: string) => ends.has(named.get(name) ?? -1);
  const calls = has('<|call|>') || has('<|calls|>');
  // gpt-oss and solar: `<|end|>` only closes one of several messages of an answer.
  const end = named.get('<|end|>');
  if (end !== undefined && calls && (has('<|return|>') || has('<|flush|>'))) {
    ends.delete(end);
    vocabulary.types[end] = TOKEN_TYPES.userDefined;
  }
  return ends;
}

function checkAdded(added: boolean, flagKey: string, idKey: string, id: number | undefined): void {
  if (!added || id !== undefined) return;
  fail('TOKENIZER_INVALID', {
    key: `tokenizer.ggml.${idKey}`,
    found: `none, while ${flagKey} is true`,
    expected: 'the id of the token to add',
  });
}
