import { Option } from 'commander';
import { textOfFile } from './text-files.ts';

/** A chat template that replaces the model's own. */
export interface TemplateFlags {
  readonly chatTemplate?: string;
  readonly chatTemplateFile?: string;
}

/** Which chat template. */
export function templateOptions(): Option[] {
  return [
    new Option(
      '--chat-template <template>',
      "a Jinja template in place of the model's own: its text, the name of a variant in the file, or rwkv-world",
    ).conflicts('chatTemplateFile'),
    new Option('--chat-template-file <file>', "a file with a Jinja template in place of the model's own"),
  ].map((option) => option.helpGroup('Model:'));
}

/** The template given by the flags. Rejects with `INVALID_ARGUMENT` for a file that cannot be read. */
export async function chatTemplateOf({
  chatTemplate,
  chatTemplateFile,
}: TemplateFlags): Promise<string | undefined> {
  if (chatTemplateFile === undefined) return chatTemplate;
  return textOfFile(chatTemplateFile, '--chat-template-file');
}
