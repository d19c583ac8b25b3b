import type { Command, Option } from 'commander';

/** A script for bash that completes commands, options and the values that options allow, otherwise files. */
export function bashCompletion(program: Command): string {
  const { commands } = program;
  const names = commands.flatMap(namesOf);
  const cases = commands.map((command) => {
    const options = optionsOf(program, command);
    const words = options.flatMap(flagsOf).join(' ');
    const values = options.flatMap((option) => {
      const choices = choicesOf(option);
      return choices.length === 0
        ? []
        : [`        ${flagsOf(option).join('|')}) words="${choices.join(' ')}" ;;`];
    });
    return [
      `    ${namesOf(command).join('|')})`,
      '      case "$previous" in',
      ...values,
      `        *) [[ "$current" == -* ]] && words="${words}" ;;`,
      '      esac ;;',
    ].join('\n');
  });
  return `# rocmforge's completion for bash
_rocmforge() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" words="" command="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in
      ${names.join('|')}) command="$word"; break ;;
    esac
  done
  case "$command" in
    "") words="${[...names, ...program.options.flatMap(flagsOf)].join(' ')}" ;;
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _rocmforge rocmforge
`;
}

/** A script for zsh, with what commands and options do. */
export function zshCompletion(program: Command): string {
  const { commands } = program;
  const list = commands.map((command) => `    ${quoted(`${command.name()}:${command.description()}`)}`);
  const cases = commands.map((command) => {
    const specs = optionsOf(program, command).map(zshOption);
    return `    ${namesOf(command).join('|')}) _arguments -S ${[...specs, "'*:file:_files'"].join(' ')} ;;`;
  });
  return `#compdef rocmforge
_rocmforge() {
  local -a commands=(
${list.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command="$words[2]"
  shift words
  (( CURRENT-- ))
  case "$command" in
${cases.join('\n')}
  esac
}
if [[ "$funcstack[1]" == _rocmforge ]]; then _rocmforge "$@"; else compdef _rocmforge rocmforge; fi
`;
}

/** A script for fish, with what commands and options do. */
export function fishCompletion(program: Command): string {
  const lines = program.commands.flatMap((command) => {
    const names = namesOf(command).join(' ');
    const offered = `complete -c rocmforge -n __fish_use_subcommand -f -a ${command.name()} -d ${quoted(command.description())}`;
    const options = optionsOf(program, command).map((option) => {
      const choices = choicesOf(option);
      const takes = choices.length > 0 ? `-xa ${quoted(choices.join(' '))}` : takesValue(option) ? '-r' : '';
      const short = option.short === undefined ? '' : `-s ${option.short.slice(1)}`;
      const words = [`-l ${option.long?.slice(2) ?? ''}`, short, takes, `-d ${quoted(option.description)}`];
      return `complete -c rocmforge -n ${quoted(`__fish_seen_subcommand_from ${names}`)} ${words.filter(Boolean).join(' ')}`;
    });
    return [offered, ...options];
  });
  return `# rocmforge's completion for fish\n${lines.join('\n')}\n`;
}

function namesOf(command: Command): string[] {
  return [command.name(), ...command.aliases()];
}

function optionsOf(program: Command, command: Command): readonly Option[] {
  const shared = program.options.filter(({ long }) => long !== '--version');
  return [...command.options, ...shared].filter(({ long }) => long !== undefined);
}

function flagsOf({ short, long }: Option): string[] {
  return [short, long].filter((flag) => flag !== undefined);
}

function choicesOf({ argChoices = [] }: Option): readonly string[] {
  return argChoices;
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}

/** `'(-m --model)'{-m,--model}'[what it is]:value:_files'`. */
function zshOption(option: Option): string {
  const flags = flagsOf(option);
  const does = option.description.replaceAll(/[[\]:\\]/g, (character) => `\\${character}`);
  const choices = choicesOf(option);
  const value =
    choices.length > 0 ? `:value:(${choices.join(' ')})` : takesValue(option) ? ':value:_files' : '';
  const spec = quoted(`[${does}]${value}`);
  if (flags.length === 1) return `${flags[0]}${spec}`;
  return `${quoted(`(${flags.join(' ')})`)}{${flags.join(',')}}${spec}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
