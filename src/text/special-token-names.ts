/**
 * Common spellings of special tokens, for files whose metadata lack the ids: those that llama.cpp recognizes. Within a
 * role, the first name that the vocabulary has is used.
 */
export const ROLE_NAMES = {
  eot: [
    '<|eot_id|>',
    '<|im_end|>',
    '<|end|>',
    '<end_of_turn>',
    '<|end_of_text|>',
    '<|endoftext|>',
    '<EOT>',
    '_<EOT>',
    '[EOT]',
    '<｜end▁of▁sentence｜>',
    '<end_of_utterance>',
  ],
  eom: ['<|eom_id|>'],
  fimPrefix: [
    '<|fim_prefix|>',
    '<fim-prefix>',
    '<fim_prefix>',
    '<｜fim▁begin｜>',
    '<PRE>',
    '▁<PRE>',
    '<|code_prefix|>',
    '<|prefix|>',
  ],
  fimSuffix: [
    '<|fim_suffix|>',
    '<fim-suffix>',
    '<fim_suffix>',
    '<｜fim▁hole｜>',
    '<SUF>',
    '▁<SUF>',
    '<|code_suffix|>',
    '<|suffix|>',
  ],
  fimMiddle: [
    '<|fim_middle|>',
    '<fim-middle>',
    '<fim_middle>',
    '<｜fim▁end｜>',
    '<MID>',
    '▁<MID>',
    '<|code_middle|>',
    '<|middle|>',
  ],
  fimPad: ['<|fim_pad|>', '<fim-pad>', '<fim_pad>', '<PAD>', '[PAD]'],
  fimRepository: ['<|fim_repo|>', '<|repo_name|>', '<fim-repo>', '<REPO>', '<reponame>'],
  fimFile: ['<|file_sep|>'],
} as const;

/** Tokens that end a turn. */
export const END_OF_GENERATION_NAMES: readonly string[] = [
  '<|eot_id|>',
  '<|im_end|>',
  '<|end|>',
  '<|return|>',
  '<|call|>',
  '<|calls|>',
  '<|flush|>',
  '<end_of_turn>',
  '<|endoftext|>',
  '</s>',
  '<|eom_id|>',
  '<EOT>',
  '_<EOT>',
  '[EOT]',
  '[EOS]',
  '<|end_of_text|>',
  '<end_of_utterance>',
  '<eos>',
  '<turn|>',
  '<|tool_response>',
  '<｜end▁of▁sentence｜>',
  '[e~[',
];

/** Markers inside a gpt-oss answer that its parser must see, though the file calls them control tokens. */
export const ALWAYS_VISIBLE_NAMES: readonly string[] = [
  '<|channel|>',
  '<|message|>',
  '<|start|>',
  '<|constrain|>',
];

/**
 * Of the end tokens, those that vocabularies also have as ordinary markup: there they count only if the file says so.
 */
export const MARKUP_NAMES: ReadonlySet<string> = new Set(['</s>']);
