import { readFileSync } from 'node:fs';
import type { LanguageModel } from '../../src/engine/language-model.ts';
import { GgufFile } from '../../src/gguf/index.ts';
import { MemorySource } from '../../src/io/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import type { ServedModel } from '../../src/server/index.ts';
import { openOrRelease } from './open-or-release.ts';
import { BUNDLED } from './run-cli.ts';

/** The template of a reasoning model: it opens the reasoning unless disabled, and includes earlier reasoning. */
const TEMPLATE = [
  '{% for message in messages %}<|im_start|>{{ message.role }}\n',
  '{% if message.reasoning_content %}<think>\n{{ message.reasoning_content }}\n</think>\n\n{% endif %}',
  '{{ message.content }}<|im_end|>\n{% endfor %}',
  '{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n',
  '{% if enable_thinking is defined and enable_thinking is false %}\n</think>\n\n{% endif %}{% endif %}',
  '{# tools: <tool_call> #}',
].join('');

/** The bundled model's file with its template replaced by this one, padded to the same length. */
export async function thinkingBytes(): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = Buffer.from(readFileSync(BUNDLED));
  const file = await GgufFile.open(new MemorySource(bytes));
  const own = Buffer.from(file.metadata.string('tokenizer.chat_template') ?? '');
  const at = bytes.indexOf(own);
  if (own.length === 0 || at < 0) throw new Error('the bundled model has a chat template');
  const padding = own.length - Buffer.byteLength(TEMPLATE) - '{##}'.length;
  bytes.write(`${TEMPLATE}{#${' '.repeat(padding)}#}`, at);
  await file.dispose();
  return bytes;
}

/** The bundled model as a reasoning model: its reasoning makes no sense, but is parsed as such. */
export async function thinkingModel(
  options: Parameters<typeof LanguageModel.open>[1] = {},
): Promise<LanguageModel> {
  const gguf = await GgufFile.open(new MemorySource(await thinkingBytes(), 'thinking.gguf'));
  const device = await openCpu({ threads: 1, memoryLimit: 2 ** 30 });
  return openOrRelease({ gguf, device, architectures: ALL_ARCHITECTURES }, options);
}

/** The same for a server. */
export function thinkingSource(): ServedModel {
  return {
    id: 'thinking',
    created: 1_700_000_000,
    open: ({ signal }) => thinkingModel({ sequences: 4, context: 1024, signal }),
  };
}
