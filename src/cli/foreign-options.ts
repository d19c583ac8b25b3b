import type { CommanderError } from 'commander';

/** What people type who come from llama.cpp's tools or Ollama's, and what is meant by it here. */
const FOREIGN: Readonly<Record<string, string>> = {
  ...same('--schema', '-j', '--json-schema', '--json-schema-file', '-jf', '--format'),
  ...same('--grammar, which takes a file, too', '--grammar-file'),
  ...same('--prompt-file', '--file', '-f'),
  ...same('--system', '-sys', '--system-prompt'),
  ...same('--context', '--ctx-size', '--num-ctx', '--n-ctx', '--max-model-len'),
  ...same('--max-tokens', '--n-predict', '--predict', '--num-predict'),
  ...same('--temperature', '--temp'),
  ...same('--penalty-window', '--repeat-last-n'),
  ...same('--batch', '--batch-size', '--ubatch-size', '-ub'),
  ...same('--cache-type', '-ctk', '-ctv'),
  ...same('--draft', '--model-draft', '--draft-model', '-md', '--speculative-model'),
  ...same('--parallel', '--slots', '--n-parallel', '-np', '--max-num-seqs'),
  ...same('--models', '--models-dir', '--model-dir'),
  ...same('--tls-key and --tls-cert', '--ssl-key-file', '--ssl-cert-file'),
  ...same('-m hf:user/repo:Q4_K_M', '-hf', '-hfr', '--hf-repo', '-hff', '--hf-file'),
  ...same('-m https://...', '-mu', '--model-url'),
  ...same('--embedding or --pooling', '--embeddings'),
  ...same('--load eager', '--no-mmap', '--mlock'),
  ...same('--gpus 2', '--tensor-parallel-size', '-tp'),
  ...same('--gpus 2x1', '--pipeline-parallel-size', '-pp'),
  ...same('--gpus, which deals out evenly', '--split-mode', '-sm', '--tensor-split', '-ts'),
  ...same('--gpu-layers', '-ngl', '--n-gpu-layers', '--num-gpu'),
  ...needless('attention needs no option', ['-fa', '--flash-attn']),
  ...needless('a file’s own chat template is used', ['--jinja']),
  ...needless('models read text only, no images or sound', ['--image', '--audio', '--mmproj', '-mm']),
};

function same(name: string, ...others: readonly string[]): Record<string, string> {
  return Object.fromEntries(others.map((other) => [other, `here it is ${name}`]));
}

function needless(why: string, options: readonly string[]): Record<string, string> {
  return Object.fromEntries(options.map((option) => [option, why]));
}

/**
 * A line about an option of `argv` that is unknown here and known elsewhere, or that was read as another one (`-ngl` as `-n gl`);
 * undefined for any other failure.
 */
export function foreignOptionHint(
  { code, message }: CommanderError,
  argv: readonly string[],
): string | undefined {
  const named = (word: string): boolean =>
    code === 'commander.unknownOption'
      ? message.includes(`unknown option '${word}`)
      : code === 'commander.invalidArgument' && message.includes(`argument '${word.slice(2)}' is invalid`);
  const words = argv.map((word) => word.replace(/=.*$/s, ''));
  const flag = words.find((word) => Object.hasOwn(FOREIGN, word) && named(word));
  return flag === undefined ? undefined : `${flag}: ${FOREIGN[flag]}`;
}
