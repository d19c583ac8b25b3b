import { Argument } from 'commander';
import type { CliCommand } from '../command.ts';
import { bashCompletion, fishCompletion, zshCompletion } from '../shell-completion.ts';

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

/** `rocmforge completion`: what a shell needs to complete command lines. */
export const completionCommand: CliCommand = {
  arguments: [new Argument('<shell>', 'the shell').choices(Object.keys(SHELLS))],
  options: [],
  examples: [
    [
      'completion bash > ~/.local/share/bash-completion/completions/rocmforge',
      'for bash, from the next shell on',
    ],
    ['completion zsh > ~/.zfunc/_rocmforge', 'for zsh, with ~/.zfunc in $fpath'],
    ['completion fish > ~/.config/fish/completions/rocmforge.fish', 'for fish'],
  ],
  async run({ args }, { output, tree }) {
    const [shell] = args as [keyof typeof SHELLS];
    await output.write(SHELLS[shell](await tree()));
    return undefined;
  },
};
