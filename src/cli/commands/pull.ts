import { Argument, Option } from 'commander';
import { ModelHub, modelNameText } from '../../node/hub/index.ts';
import type { CliCommand } from '../command.ts';
import { hubOptions, hubOptionsOf } from '../hub-options.ts';
import { contextOption, deviceOptions, type JsonFlags, jsonOption, wholeNumber } from '../options.ts';
import { type PullFlags, pullShown } from '../pull-model.ts';

interface PullCommandFlags extends PullFlags, JsonFlags {}

/** `rocmforge pull`: a model from its hub into the cache that Hugging Face's tools share. */
export const pullCommand: CliCommand<PullCommandFlags> = {
  arguments: [
    new Argument('<model>', 'hf:user/repo[:quantization], ollama:name[:tag], or an http(s) address'),
  ],
  options: [
    new Option('--connections <count>', 'connections at once (default: 4)').argParser(wholeNumber(1)),
    ...hubOptions(),
    contextOption(),
    ...deviceOptions(),
    jsonOption(),
  ],
  examples: [
    ['pull hf:unsloth/Qwen3-0.6B-GGUF', 'the usual quantization of a model'],
    ['pull unsloth/Qwen3-0.6B-GGUF:Q8_0', 'another one'],
    ['pull https://huggingface.co/user/repo/blob/main/model-Q4_K_M.gguf', 'the file of a page'],
    ['pull ollama:llama3.2:1b', 'from the registry of Ollama'],
    ['pull https://example.org/model.gguf --header "authorization: Bearer abc"', 'from any server'],
  ],
  async run({ args, flags }, context) {
    const [text] = args as [string];
    using hub = await ModelHub.open(hubOptionsOf(flags, context));
    const { name, path, files, bytes } = await pullShown(hub, text, flags, context);
    if (flags.json) await context.output.json({ model: modelNameText(name), path, files, bytes });
    else await context.output.line(path);
    return undefined;
  },
};
